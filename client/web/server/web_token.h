// WebToken: what a browser must know to be let in.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace profd::client {

inline constexpr std::size_t kWebTokenDigits = 32;  // 128 bits, in hex

// Of the kernel's random numbers.
[[nodiscard]] Result<std::string> MakeWebToken();
// How long it takes does not depend on where the two differ.
[[nodiscard]] bool IsSameToken(std::string_view token, std::string_view other);

}  // namespace profd::client
