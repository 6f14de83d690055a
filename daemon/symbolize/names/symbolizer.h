// Symbolizer: names for addresses, or the reason why there is none.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/process/sample.h"
#include "daemon/symbolize/names/module_info.h"

namespace profd::symbolize {

enum class FrameKind : std::uint8_t { kNative, kKernel, kPython, kJit, kPseudo };

// One named frame. Equal frames are the same function at the same place.
struct Frame {
  FrameKind kind = FrameKind::kNative;
  bool inlined = false;
  // Demangled, without parameters; made of the file and the function's place, with a reason, when
  // it has no symbol; "" when the function is not known, either.
  std::string name;
  std::string full_name;     // with parameters, when it differs from `name`
  std::string symbol;        // as the file has it (mangled), when it differs from `name`
  std::string module;        // path, "[kernel]", "[vdso]", or ""
  std::uint64_t offset = 0;  // of the address in the module's file (kernel: the address)
  std::string file;          // of the source; "" when not known
  std::uint32_t line = 0;    // of the address, or of the call that was inlined; 0: not known
  std::string reason;        // why there is no symbol; "" when there is one
  ModuleInfoRef origin;      // where names of this module come from; null: nothing to say
  bool interpreter = false;  // of a Python interpreter, on a stack with its Python frames
  friend bool operator==(const Frame& a, const Frame& b);
};

[[nodiscard]] inline bool operator==(const Frame& a, const Frame& b) {
  const auto texts = [](const Frame& f) {
    return std::tie(f.kind, f.inlined, f.name, f.full_name, f.symbol, f.module, f.offset, f.file,
                    f.line, f.reason, f.interpreter);
  };
  const bool same_origin = a.origin == b.origin || (a.origin && b.origin && *a.origin == *b.origin);
  return same_origin && texts(a) == texts(b);
}

// How much is wanted of an address: the second costs the reading of debug information.
enum class Detail : std::uint8_t { kSymbols, kSource };

// Used by one thread. Never blocks on the network; bounded memory.
class Symbolizer {
 public:
  virtual ~Symbolizer() = default;
  // Appends the frames of one address, innermost first (more than one when functions are inlined
  // and kSource is requested), or exactly one unresolved frame with a reason.
  virtual void Resolve(const process::AddressFrame& address, Detail detail,
                       std::vector<Frame>& frames) = 0;
  // Reads what any process's stacks need, which the first question would otherwise wait for.
  virtual void Prepare() {}
  // Whether this answer may be another one the next time: code that is made at run time moves. A
  // program's own names stay, though its file be in memory.
  [[nodiscard]] static bool MayChange(const process::AddressFrame& address, const Frame& answer) {
    return !address.kernel && address.module != nullptr &&
           (address.module->path.empty() || address.module->path.starts_with("/memfd:") ||
            address.module->path.starts_with("[anon")) &&
           (answer.kind != FrameKind::kNative || !answer.reason.empty());
  }
  // Counts up when addresses, resolved again, may get better answers: caches start again.
  [[nodiscard]] virtual std::uint64_t improvements() const { return 0; }
};

}  // namespace profd::symbolize
