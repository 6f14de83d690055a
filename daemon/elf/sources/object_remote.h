// ObjectParser, ObjectClient: symbols and debug information of mapped files, read in a reader
// process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/lru_cache.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/elf/debug/debug_download.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/elf/sources/kept_symbols.h"
#include "daemon/elf/sources/object_cache.h"
#include "daemon/elf/sources/object_reader.h"
#include "daemon/reader/answer_cache.h"
#include "daemon/reader/reader_pool.h"

namespace profd::elf {

// Runs in a reader process.
class ObjectParser : public reader::Parser {
 public:
  // `functions` null: only tables say where functions are.
  explicit ObjectParser(std::unique_ptr<FunctionFinder> functions = nullptr)
      : functions_(std::move(functions)) {}
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;

 private:
  const std::unique_ptr<FunctionFinder> functions_;
  std::optional<ObjectReader> reader_;  // made with the first request, which has its settings
};

// The daemon's side. Owned by the composition root, used by the symbolizer thread; any thread may
// read the counters. Load asks each time which file it is, so that it notices one that is replaced
// or rewritten. The file is read only if no object of it is held: all processes that map a file,
// also in containers, share its object, unless it needs other files beside it (ContentsKey). The
// callers decide how long they hold objects, but not longer than this. What comes back is checked:
// a hostile file may have taken the parser over.
class ObjectClient : public ObjectSource {
 public:
  // A request that takes longer goes on; improvements() grows when it is answered.
  static constexpr std::chrono::milliseconds kPatience{2'000};

  struct Counters {
    Counter loads;       // calls of Load
    Counter files_read;  // those that read symbols from a file
    Counter failures;    // those without an answer
  };

  // `readers` answer by ObjectParsers. `downloads`: shares of users in what is got from the
  // servers of DEBUGINFOD_URLS, for later look-ups; null: nothing is. `memory`: files that do not
  // fit are refused; null: all fit. `kept`: symbols of files that are gone; null: there are none.
  // `cache`: answers of an earlier profd; null: there is none.
  ObjectClient(reader::Readers& readers, const ObjectSettings& settings,
               budget::Shares* downloads = nullptr, budget::MemoryBudget* memory = nullptr,
               KeptSymbols* kept = nullptr, reader::AnswerCache* cache = nullptr);

  // kUnavailable: it is not read yet, or cannot be for now.
  [[nodiscard]] Result<ObjectRef> Load(const ObjectId& id) override;
  [[nodiscard]] std::uint64_t improvements() const override;
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // Of the thread that downloads; null: nothing is downloaded.
  [[nodiscard]] const Heartbeat* heartbeat() const {
    return download_ ? &download_->heartbeat() : nullptr;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  class FileObject;
  // All that map one file.
  struct Held {
    std::weak_ptr<const Object> object;
    ObjectId id;  // of the process that has mapped it last
  };
  // A request that was not answered in time.
  struct Pending {
    reader::ReaderRequest request;
    std::vector<std::shared_ptr<const UniqueFd>> files;  // of its descriptors
    Error why;                                           // there is no answer yet
    bool in_trouble = false;                             // it is not only late
    std::optional<Result<std::string>> answer{};
  };
  static constexpr std::size_t kMaxPending = 64;
  // A smaller file has few symbols, though its debug file may have more.
  static constexpr std::uint64_t kMayNeedIndex = 1u << 20;
  static constexpr std::chrono::milliseconds kPollEvery{500};

  [[nodiscard]] Result<ObjectRef> LoadFile(const ObjectId& id);
  [[nodiscard]] Result<ObjectRef> ReadFile(const ObjectId& id, const FileStamp& stamp);
  // Makes an object that all who map the file share.
  [[nodiscard]] ObjectRef Hold(const ObjectId& id, const ContentsKey& key, ObjectContents contents,
                               std::optional<SymbolIndex> symbols);
  // What a reader gets with a request. It stays open while the request may be repeated.
  using File = std::shared_ptr<const UniqueFd>;
  struct Downloaded {
    File file;  // null: there is none
    std::string path;
  };
  // What a file says, and the file that its index was written to, if it has one.
  struct Reading {
    ObjectContents contents;
    File index;
  };
  // What an earlier profd has read; null: nothing.
  [[nodiscard]] ObjectRef Known(const ObjectId& id, const ContentsKey& key);
  // For the next profd.
  void Keep(const ObjectId& id, const FileStamp& stamp, const Downloaded& downloaded,
            const Reading& reading);
  // The request to read a file, and what goes with it. `repeated` as for Ask.
  [[nodiscard]] Result<Reading> AskToRead(const ObjectId& id, const FileStamp& stamp,
                                          const Downloaded& downloaded, File index,
                                          bool repeated = true);
  // Once more with the debug file that was downloaded, if there is one; else says why not.
  [[nodiscard]] Downloaded AddDownloaded(const ObjectId& id, const FileStamp& stamp,
                                         Reading& reading);
  // Once more with a file for an index of the symbols, if that is needed. An error: there will be
  // one later.
  [[nodiscard]] Result<std::optional<SymbolIndex>> AddIndex(const ObjectId& id,
                                                            const FileStamp& stamp,
                                                            const Downloaded& downloaded,
                                                            Reading& reading);
  // A new file for an index.
  [[nodiscard]] static Result<File> MakeIndexFile();
  // The file for the index of this file, which is kept while a request for it is pending.
  [[nodiscard]] Result<File> FileForIndex(const ContentsKey& key);
  [[nodiscard]] Result<ObjectRef> LoadVdso(const ObjectId& id);
  [[nodiscard]] std::vector<SourceFrame> FindSource(const ContentsKey& key, std::uint64_t vaddr);
  // Those that reach into a piece, as FunctionFinder has them; nothing: there is no answer yet.
  [[nodiscard]] std::optional<std::vector<FunctionExtent>> FindFunctions(const ContentsKey& key,
                                                                         std::uint64_t piece);
  // Whether there is room for what reading a file of this length may take.
  [[nodiscard]] bool Fits(std::uint64_t file_bytes) const;
  void Sweep();
  // Debug information of large files takes seconds to open, and code some time to follow; symbols
  // wait for neither. `repeated`: if there is no answer yet, until there is one.
  enum class What : std::uint8_t { kSymbols, kSource, kFunctions };
  [[nodiscard]] Result<std::string> Ask(const ObjectId& id, What what, std::string body,
                                        std::vector<File> files = {}, bool repeated = true);
  // Asks for what is pending again, without waiting.
  void Poll() const;

  reader::Readers& readers_;
  const ObjectSettings settings_;
  const std::unique_ptr<DebugDownload> download_;  // null: nothing is downloaded
  budget::MemoryBudget* const memory_;
  KeptSymbols* const kept_;
  const std::unique_ptr<ObjectCache> cache_;  // null: there is none
  std::unordered_map<ContentsKey, Held, ContentsHash> held_;
  LruCache<ContentsKey, File, ContentsHash> indexing_{kMaxPending};  // that are being written
  std::size_t sweep_at_ = 64;  // when held_ has grown to this, what is no longer held is forgotten
  ObjectRef vdso_;
  Counters counters_;

  // improvements() is where answers are looked for, so these change there.
  mutable std::unordered_map<std::uint64_t, Pending> pending_;
  mutable Time polled_;
  mutable std::uint64_t answered_ = 0;
};

}  // namespace profd::elf
