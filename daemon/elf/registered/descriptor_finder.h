// DescriptorFinder: where the lists begin of what a process has registered for debuggers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/object.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/reader/opener.h"

namespace profd::elf {

// A run time that registers code by GDB's JIT interface, or a library that does so for it (LLVM),
// defines the symbol `__jit_debug_descriptor`. Most files define none, and cost a few reads, once:
// exported names first, then the names of .symtab, within bounds. The files of a process are looked
// at again when others are mapped, at most once in kTrusted. Owned by RegisteredLists; used by the
// one thread of a reader process.
class DescriptorFinder {
 public:
  static constexpr std::size_t kMaxFiles = 4'096;     // whose answers are kept
  static constexpr std::size_t kMaxProcesses = 256;   // the same
  static constexpr std::size_t kMaxMappings = 2'048;  // of one process
  static constexpr std::size_t kMaxDescriptors = 8;   // of one process
  static constexpr std::size_t kMaxMapsBytes = 64u << 20;
  static constexpr std::uint64_t kMaxNamesBytes = 256u << 20;  // of .symtab
  static constexpr std::chrono::milliseconds kTrusted{1'000};

  // Their addresses, ascending; none: the process has none. kNotFound: it is gone.
  [[nodiscard]] Result<std::vector<std::uint64_t>> Find(reader::FileOpener& opener,
                                                        std::uint32_t pid);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Descriptor {
    std::uint64_t vaddr = 0;
    std::vector<LoadSegment> segments;
  };
  struct Process {
    std::uint64_t files = 0;  // hash of its mappings
    Time looked_at;
    std::vector<std::uint64_t> addresses;
  };

  // Of one file, by its contents.
  [[nodiscard]] static std::optional<Descriptor> LookInto(const ByteSource& source);
  [[nodiscard]] std::optional<std::uint64_t> AddressIn(reader::FileOpener& opener,
                                                       std::uint32_t pid, const MapsLine& line);

  LruCache<FileStamp, std::optional<Descriptor>> files_{kMaxFiles};
  LruCache<std::uint32_t, Process> processes_{kMaxProcesses};
};

}  // namespace profd::elf
