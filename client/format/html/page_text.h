// Bytes as a page may hold them.
#pragma once

#include <string>
#include <string_view>

namespace profd::client {

// RFC 4648, in one line; of at most 1 GiB.
[[nodiscard]] std::string Base64(std::string_view bytes);
// As a Content-Security-Policy names an inline script or style: 'sha256-...'.
[[nodiscard]] std::string PolicyHash(std::string_view text);

}  // namespace profd::client
