// Demangle: C++ (Itanium ABI) and Rust (legacy and v0) names as a person would write them.
#pragma once

#include <string>
#include <string_view>

namespace profd::symbolize {

struct DemangledName {
  // Without parameters, return type, compiler suffixes and tags of versions; C names as they are.
  // Template argument lists are kept, but where the whole would be longer than 512 bytes the
  // innermost ones are
  // "<...>".
  std::string name;
  // With parameters, at most kMaxTextBytes; "" when equal to `name`.
  std::string full_name;
};

// Takes any bytes. A text that is not a mangled name, or is damaged or too complex, comes back
// unchanged but for CleanText. Output and stack are bounded, whatever the name.
[[nodiscard]] DemangledName Demangle(std::string_view symbol);

}  // namespace profd::symbolize
