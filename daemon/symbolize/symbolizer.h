// Symbolizer: names for addresses, or the reason why there is none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/process/sample.h"

namespace profd::symbolize {

enum class FrameKind : std::uint8_t { kNative, kKernel, kPython, kJit, kPseudo };

// One named frame. Equal frames are the same function at the same place.
struct Frame {
  FrameKind kind = FrameKind::kNative;
  bool inlined = false;
  std::string name;          // demangled, without parameters; "" when unresolved
  std::string full_name;     // with parameters, when it differs from `name`
  std::string module;        // path, "[kernel]", "[vdso]", or ""
  std::uint64_t offset = 0;  // of the address in the module's file (kernel: the address)
  std::string file;
  std::uint32_t line = 0;
  std::string reason;  // why there is no name; "" when there is one
  friend bool operator==(const Frame&, const Frame&) = default;
};

// Used by one thread. Never blocks on the network; bounded memory.
class Symbolizer {
 public:
  virtual ~Symbolizer() = default;
  // Appends the frames of one address, innermost first (more than one when functions are inlined),
  // or exactly one unresolved frame with a reason.
  virtual void Resolve(const process::AddressFrame& address, std::vector<Frame>& frames) = 0;
};

}  // namespace profd::symbolize
