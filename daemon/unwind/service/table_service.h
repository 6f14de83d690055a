// TableService: makes the unwind tables that the programs request, and those that they will need.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <unordered_set>
#include <utility>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/lru_cache.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/elf/sources/kept_symbols.h"
#include "daemon/reader/answer_cache.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/source/bpf/unwind_maps.h"
#include "daemon/unwind/service/cfi_remote.h"
#include "daemon/unwind/service/code_coverage.h"
#include "daemon/unwind/tables/table_store.h"

namespace profd::unwind {

// Written by the service's thread, those of the queues under its lock; any thread may read.
struct ServiceCounters {
  Counter wanted;      // requests of programs taken
  Counter repeated;    // of those, requested already
  Counter queue_full;  // requests that found no room in a queue
  Counter files_read;  // files whose tables were made
  Counter no_tables;   // files without usable tables
  Counter gone;        // the process or its mapping was gone
  Counter changed;     // another file lay there, or it had been changed
  Counter damaged;     // FDEs that were left out
  Counter prefetched;  // files read before a program requested them
  Counter code_bytes;  // bytes of code without unwind information that have rules all the same
  Counter code_bare;   // bytes of such code that have none
  Counter registered;  // bytes of code made at run time with rules that its program registered
  Counter
      rewritten;  // chunks of code made at run time that have changed, or what is registered for it
  Counter delayed;  // requests that waited for a reader, or for a file that does not answer
};

// Has a thread of its own. Requests of programs come first; then, some chunks at a time and at a
// low priority, the rest of small files, then what is fetched ahead. Files are read by reader
// processes: one that does not answer holds up the others for kPatience, and is tried again later.
// Owned by the composition root; the readers and the maps outlive it. It does not promise a table
// for every file: files may be gone, damaged, too many, or not answer.
class TableService {
 public:
  // Of kernel memory, all tables and lists together.
  static constexpr std::uint64_t kDefaultCapBytes = 64u << 20;

  static constexpr std::chrono::milliseconds kPatience{100};
  using Mapping = FileMapping;
  // A file by the kernel's numbers; `generation` 0: not known.
  struct FileNumbers {
    std::uint32_t device_major = 0;
    std::uint32_t device_minor = 0;
    std::uint64_t inode = 0;
    std::uint64_t generation = 0;
  };

  // `readers` answer by CfiParsers. `kept` gets the symbols of files that it wants; null: they are
  // not read. `cache`: rows that an earlier profd has read; null: there are none.
  TableService(source::PoolMemory& memory, source::FileMaps& maps, reader::Readers& readers,
               std::uint64_t cap_bytes = kDefaultCapBytes, elf::KeptSymbols* kept = nullptr,
               reader::AnswerCache* cache = nullptr);
  TableService(const TableService&) = delete;
  TableService& operator=(const TableService&) = delete;
  ~TableService() = default;

  // Any thread; they return at once. A request without room is counted; programs repeat theirs.
  void Want(const profd_wanted& wanted);
  void Prefetch(std::uint32_t pid);  // all executable mappings
  void Prefetch(const Mapping& mapping, const FileNumbers& file);
  // Of all executable mappings the files that have just been made: they may soon be others. Without
  // `kept` none.
  void PrefetchNew(std::uint32_t pid);

  // Waits until `requests` of the programs have been taken, since the start, and all that has been
  // requested is there; of large files only what was requested. Any thread; meanwhile the work has
  // a normal priority. False: timed out.
  bool Await(std::uint64_t requests, std::chrono::milliseconds timeout);
  // The same, but of all files only what programs have requested: not what is fetched ahead.
  bool AwaitMissed(std::uint64_t requests, std::chrono::milliseconds timeout);

  [[nodiscard]] const ServiceCounters& counters() const { return counters_; }
  [[nodiscard]] const CodeCoverages& coverages() const { return coverages_; }
  [[nodiscard]] const StoreCounters& store_counters() const { return store_.counters(); }
  [[nodiscard]] std::uint64_t cap_bytes() const { return cap_bytes_; }
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  // Kernel memory of tables: bounded, and kept.
  [[nodiscard]] budget::MemoryAccount& tables_memory() { return tables_memory_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  using FileRef = std::shared_ptr<const FrameFile>;
  static constexpr std::size_t kMaxKnown = 256;
  static constexpr std::size_t kMaxWatched = 1'024;
  static constexpr std::size_t kMaxSeen = 8'192;
  static constexpr std::size_t kMaxStamps = std::size_t{2} * PROFD_MAX_UNWIND_FILES;
  // To be fetched ahead.
  struct Ahead {
    Mapping mapping;         // end 0: the whole process
    std::uint64_t file = 0;  // hash of its numbers
    bool only_new = false;   // unless the file has just been made, it is left alone
  };
  struct Unfinished {
    profd_file_key key;
    FileRef file;
    bool missed = false;  // by a program
  };
  // A request whose file was not there yet.
  struct Delayed {
    profd_wanted wanted;
    Time next;
    std::chrono::milliseconds delay;
  };
  // One piece of work; nothing in it: load some chunks of an unfinished file.
  struct Task {
    std::optional<profd_wanted> wanted;
    std::optional<Ahead> ahead;
    std::chrono::milliseconds delay{};  // of `wanted`, if it is tried again
  };

  // A chunk of code made at run time, whose contents may change.
  struct Watched {
    profd_file_key key;
    FileRef file;
    std::uint64_t begin = 0;
    std::uint64_t hash = 0;
    Time next;
    std::chrono::milliseconds delay;
  };

  template <typename Done>  // called with the lock held
  bool AwaitUntil(std::chrono::milliseconds timeout, const Done& done);
  // With the lock held.
  [[nodiscard]] bool HasMissed(std::uint64_t requests) const;
  void Run(const std::stop_token& stop);
  [[nodiscard]] Task NextTask(const std::stop_token& stop);
  void SetNice(int nice);
  [[nodiscard]] std::optional<Task> TakeDelayed();
  void HandleWanted(const profd_wanted& wanted, std::chrono::milliseconds delay);
  // kNotFound: the process or the mapping that led to the file is gone. kUnavailable: not yet.
  [[nodiscard]] Result<void> ReadWanted(const profd_wanted& wanted);
  void Delay(const profd_wanted& wanted, std::chrono::milliseconds before);
  void Push(const Ahead& ahead);
  void HandleProcess(std::uint32_t pid, bool only_new);
  void NoteSeen(std::uint64_t file, const elf::FileStamp& stamp);
  // Whether the file behind a mapping has just been made.
  [[nodiscard]] bool IsNew(const Ahead& ahead);
  void HandlePrefetch(const Ahead& ahead);
  // Loads a file's other chunks while there is room: of small files, and of files that programs
  // request again and again.
  void Finish(const profd_file_key& key, const FileRef& file, bool missed);
  void LoadUnfinished();
  [[nodiscard]] std::size_t ChunksAtOnce();
  // The wanted file. kNotFound: there is none, or no tables, which is counted and published.
  [[nodiscard]] Result<FileRef> FileFor(const profd_wanted& wanted);
  // The file behind a mapping; its symbols are kept if they are wanted.
  [[nodiscard]] Result<FrameFile> Open(const FileMapping& mapping);
  // The file that was made from the same contents, under another key.
  [[nodiscard]] std::optional<TableStore::FileIndex> FindByStamp(const elf::FileStamp& stamp);
  [[nodiscard]] Result<void> LoadMemory(TableStore::FileIndex index, const FileRef& file,
                                        std::uint64_t begin);
  // Drops chunks of memory whose contents have changed, if programs use them.
  void CheckMemory();
  // False: it is not to be watched any longer.
  [[nodiscard]] bool Check(Watched& chunk);
  // The chunks that begin there; kMake: a program has requested them.
  [[nodiscard]] Result<void> Load(TableStore::FileIndex index, const FrameFile& file,
                                  std::span<const std::uint64_t> begins, TableStore::Room room);

  const std::uint64_t cap_bytes_;
  elf::KeptSymbols* const kept_;
  TableStore store_;
  CfiClient client_;
  ServiceCounters counters_;
  CodeCoverages coverages_;
  // Found in a process, which may have ended since; large files wait here for requests.
  LruCache<profd_file_key, FileRef, FileKeyHash, FileKeyEqual> known_{kMaxKnown};
  std::deque<Delayed> delayed_;
  // Files fetched ahead, by Ahead::file: until when they are not again.
  LruCache<std::uint64_t, Time> seen_{kMaxSeen};
  // The same for files that were found not to be new.
  LruCache<std::uint64_t, Time> old_{kMaxSeen};
  std::deque<Unfinished> unfinished_;  // small files first
  std::deque<Watched> watched_;
  Time memory_checked_{};
  LruCache<elf::FileStamp, profd_file_key> stamps_{kMaxStamps};
  int own_nice_ = 0;  // profd's
  int nice_ = 0;      // beyond it
  budget::MemoryAccount tables_memory_{"unwind tables", false};
  Heartbeat beat_{"unwind tables"};

  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::condition_variable progress_;
  std::deque<profd_wanted> wanted_;
  std::unordered_set<std::uint64_t> waiting_;  // hashes of what is in wanted_
  std::deque<Ahead> mappings_;
  bool busy_ = true;  // with what Await waits for
  bool handles_wanted_ = false;
  int awaiting_ = 0;  // callers of Await and AwaitMissed
  Time missed_awaited_{};
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::unwind
