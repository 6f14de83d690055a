// TypeNames: what kind an object of another process is, by the name of its type.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/python/code/process_memory.h"

namespace profd::python {

// Types of the interpreter itself stay where they are, so each is read once. Used by one thread.
class TypeNames {
 public:
  enum Kind { kCode, kStr, kBytes, kKinds };

  explicit TypeNames(ProcessMemory memory) : memory_(memory) {}
  // False also when it cannot be read.
  [[nodiscard]] bool Is(std::uint64_t object, Kind kind);

 private:
  ProcessMemory memory_;
  std::array<std::uint64_t, kKinds> types_{};  // addresses; 0: not seen yet
};

}  // namespace profd::python
