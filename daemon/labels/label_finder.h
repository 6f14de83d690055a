// LabelFinder: where the threads of a process publish their labels, and under which names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/labels.h"
#include "daemon/base/lru_cache.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/result.h"
#include "daemon/elf/file/object.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/elf/file/tls_variable.h"
#include "daemon/reader/opener.h"
#include "daemon/source/procfs/process_context.h"

namespace profd::labels {

// What is found in one process.
struct LabelFacts {
  // `process_start_ns` is not set; not to be used with `refused`.
  profd_label_process variable{};
  std::vector<std::string> keys;
  // Not empty: it publishes labels, and this is why they cannot be read now. A library that defines
  // the variable may still be loaded.
  std::string refused;

  friend bool operator==(const LabelFacts& a, const LabelFacts& b) {
    return a.variable.offset == b.variable.offset && a.variable.module == b.variable.module &&
           a.variable.entry_bytes == b.variable.entry_bytes && a.keys == b.keys &&
           a.refused == b.refused;
  }
};

// A process that publishes labels has a mapping with a name of its own (ProcessContext), so that
// all others cost one look at their maps. Which of the mapped files defines the variable is known
// from the files, whose answers are kept. Of several that do, the one mapped first counts. Lives in
// a reader process; used by its one thread.
class LabelFinder {
 public:
  static constexpr std::size_t kMaxFiles = 4'096;     // whose answers are kept
  static constexpr std::size_t kMaxMappings = 2'048;  // of one process
  static constexpr std::size_t kMaxMapsBytes = 64u << 20;

  // Nothing: the process publishes no labels. kNotFound: it is gone. Any other error: its memory
  // cannot be read now, or is just being written.
  [[nodiscard]] Result<std::optional<LabelFacts>> Find(reader::FileOpener& opener,
                                                       std::uint32_t pid);

 private:
  struct File {
    Result<elf::TlsVariable> variable;
    std::vector<elf::LoadSegment> segments;
  };
  // In a process: the variable, and what to add to addresses of its file.
  struct Place {
    elf::TlsVariable variable;
    std::uint64_t bias = 0;
  };

  [[nodiscard]] static File LookInto(int fd, std::uint64_t bytes);
  // kNotFound: the file does not define it.
  [[nodiscard]] Result<Place> PlaceIn(reader::FileOpener& opener, std::uint32_t pid,
                                      const MapsLine& line);
  [[nodiscard]] Result<Place> FindPlace(reader::FileOpener& opener, std::uint32_t pid,
                                        const std::vector<MapsLine>& files);

  LruCache<elf::FileStamp, File> files_{kMaxFiles};
};

}  // namespace profd::labels
