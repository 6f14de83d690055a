// ObjectSource: the ELF object behind a mapping, for the symbolizer.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/result.h"
#include "daemon/elf/file/object.h"

namespace profd::elf {

// A mapped file, as the kernel named it, and where to find it while it is mapped.
struct ObjectId {
  std::string path;  // as in /proc/PID/maps; "[vdso]" is the kernel's own
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint32_t pid = 0;        // of a process that maps it; 0: not known
  std::uint64_t map_start = 0;  // one mapping of it there
  std::uint64_t map_end = 0;
  // When it was mapped, in ns of CLOCK_MONOTONIC, or some time later; 0: not known.
  std::uint64_t mapped_ns = 0;

  // "major:minor:inode:path": names the file in recordings.
  [[nodiscard]] std::string Key() const;
};

// Used by one thread.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  // Fails when the file cannot be opened or is not the mapped one; the message lists the attempts.
  [[nodiscard]] virtual Result<ObjectRef> Load(const ObjectId& id) = 0;
  // Grows when objects may have more answers than before, after they are loaded again or at once.
  [[nodiscard]] virtual std::uint64_t improvements() const { return 0; }
};

}  // namespace profd::elf
