// StackEnd: the pseudo-frame at the end of a user stack that does not reach its root.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::symbolize {

// The name of a pseudo-frame by a sample's PROFD_STACK_* flags; "" when the stack is whole, has no
// user part, or nothing is known of its end. `missing_bytes`: of the stack above its last frame;
// the name has their order of magnitude only, so that there are few.
[[nodiscard]] std::string_view StackEndName(std::uint16_t stack_flags, std::uint64_t missing_bytes);

}  // namespace profd::symbolize
