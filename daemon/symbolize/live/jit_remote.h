// JitParser, JitClient: the lists that run times write of the code that they make, the objects that
// they register for debuggers, and that code itself, read in a reader process.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/registered/registered_list.h"
#include "daemon/reader/message.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/symbolize/live/jit_map.h"
#include "daemon/symbolize/live/made_functions.h"

namespace profd::symbolize {

// One list, as the process sees it.
struct JitFile {
  std::string path;     // empty: it has none
  std::string missing;  // why it cannot be read; empty: it can
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
};

struct JitFiles {
  std::uint64_t start =
      0;  // of the process, in clock ticks since boot: distinguishes it from others with its pid
  JitFile perf_map;        // /tmp/perf-PID.map, with the pid in the process's own namespace
  JitFile dump;            // jit-PID.dump, which run times map to be found by
  std::uint64_t cost = 0;  // of the search, as JitProgress::cost
};

// A part of a list that has been read.
struct JitProgress {
  std::uint64_t done = 0;  // bytes of the file that are taken
  bool more = false;       // there is more to read now
  // Of the request: bytes of the answer, and a part of those that the reader went through for them.
  std::uint64_t cost = 0;
};

// What a process has registered.
struct JitRegistered {
  std::optional<elf::RegisteredList> list;  // nothing: it is the one that is known
  std::uint64_t cost = 0;                   // as JitProgress::cost
};

// Runs in a reader process. Only regular files that belong to the process's user are believed, and
// no link is followed.
class JitParser : public reader::Parser {
 public:
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;

 private:
  static constexpr std::size_t kMaxOpen = 64;
  struct OpenFile {
    std::uint32_t pid = 0;
    std::string path;
    std::uint64_t inode = 0;
    UniqueFd fd;
  };

  [[nodiscard]] Result<std::string> Search(std::uint32_t pid, reader::FileOpener& opener);
  [[nodiscard]] Result<std::string> ReadPiece(std::uint32_t pid, reader::Unpacker& fields,
                                              reader::FileOpener& opener);
  [[nodiscard]] Result<std::string> ReadRegistered(std::uint32_t pid, std::uint64_t known,
                                                   reader::FileOpener& opener);
  [[nodiscard]] JitFile Inspect(std::uint32_t pid, std::string path, reader::FileOpener& opener);
  // Nothing is open under this name: -1.
  [[nodiscard]] int Find(std::uint32_t pid, std::string_view path, std::uint64_t inode) const;

  std::vector<OpenFile> open_;  // opened last at the back
  elf::RegisteredLists registered_;
};

// The daemon's side. Used by one thread.
class JitClient {
 public:
  static constexpr std::chrono::milliseconds kPatience{50};

  // The pool's role makes JitParsers; it outlives this.
  explicit JitClient(reader::Readers& readers) : readers_(readers) {}

  // kNotFound: the process is gone.
  [[nodiscard]] Result<JitFiles> Search(std::uint32_t pid);
  // What is listed from `offset` on goes to `sink`, in order.
  [[nodiscard]] Result<JitProgress> Read(std::uint32_t pid, const JitFile& file, bool is_dump,
                                         std::uint64_t offset, JitSink& sink);
  // `known`: the stamp of the list that the caller has; 0: of none.
  [[nodiscard]] Result<JitRegistered> ReadRegistered(std::uint32_t pid, std::uint64_t known);
  // The functions of one object, at their addresses in the process, and what that has cost.
  // kNotFound: it is there no more.
  [[nodiscard]] Result<std::uint64_t> ReadObject(std::uint32_t pid,
                                                 const elf::RegisteredPlace& place, JitSink& sink);
  // The functions in the window of code that holds `address`. `known`: the hash of what the caller
  // has of it. kNotFound: the process is gone.
  [[nodiscard]] Result<MadeAnswer> ReadMade(std::uint32_t pid, std::uint64_t address,
                                            std::optional<std::uint64_t> known);

 private:
  [[nodiscard]] Result<std::string> Ask(std::uint32_t pid, std::string body);

  reader::Readers& readers_;
};

}  // namespace profd::symbolize
