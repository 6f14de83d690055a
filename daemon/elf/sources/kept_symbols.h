// KeptSymbols: symbols of files that may soon be others, read when they were mapped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/lru_cache.h"
#include "daemon/base/result.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/elf/sources/object_contents.h"

namespace profd::elf {

// Whether the file was written after that moment, by its time of modification, if that is not in
// the future. CLOCK_MONOTONIC; 0: not known.
[[nodiscard]] bool WasWrittenAfter(std::uint64_t mapped_ns, const FileStamp& stamp,
                                   const Clock& clock);

// A file that has just been made is likely to be made again: a library that is built, a package
// that is installed, a plugin that its program writes. When its frames get their names it may be
// rewritten in place, or replaced and no longer mapped. So the unwind service, which knows of
// each file that is mapped, has the symbols of such files read, too. Used are they only for what
// was mapped before they were seen, from a file that had not been written since. Of debug
// information nothing is kept. Bounded: what was used longest ago leaves first. Methods may be
// called from any thread.
class KeptSymbols {
 public:
  static constexpr std::uint64_t kMaxFileBytes = 4u << 20;
  // Since a file was written, renamed or linked.
  static constexpr std::chrono::minutes kRecent{10};

  // `clock` must outlive this.
  KeptSymbols(std::size_t max_bytes, const Clock& clock)
      : clock_(clock), files_(kMaxFiles, max_bytes) {}

  // A mapping, as the kernel numbers it.
  struct Mapping {
    std::uint32_t pid = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    friend bool operator==(const Mapping&, const Mapping&) = default;
  };
  // Whether the file has just been made, so that its symbols are worth keeping.
  [[nodiscard]] bool IsNew(const FileStamp& stamp) const;
  // At `seen_ns` (CLOCK_MONOTONIC) this was the mapped file. True, once for a file: its symbols are
  // to be read and kept.
  [[nodiscard]] bool See(const FileStamp& stamp, const Mapping& mapping, std::uint64_t seen_ns);
  // `contents`: of PackContents.
  void Keep(const FileStamp& stamp, std::string contents);
  // None: the symbols of what was mapped then are not kept.
  [[nodiscard]] std::optional<ObjectContents> Find(const ObjectId& id);

  [[nodiscard]] budget::MemoryAccount& memory() { return memory_; }

 private:
  static constexpr std::size_t kMaxFiles = 1'024;
  struct File {
    Mapping mapping;
    std::uint64_t seen_ns = 0;
    std::string contents{};  // "": not read
  };

  [[nodiscard]] bool IsOf(const ObjectId& id, const FileStamp& stamp, const File& file) const;

  const Clock& clock_;
  std::mutex mutex_;
  LruCache<FileStamp, File> files_;
  budget::MemoryAccount memory_{"kept symbols"};
};

}  // namespace profd::elf
