#include "client/web/server/web_token.h"

#include <sys/random.h>

#include <array>
#include <cerrno>

namespace profd::client {

Result<std::string> MakeWebToken() {
  std::array<unsigned char, kWebTokenDigits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return ErrorFromErrno(errno, "cannot make a token");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

bool IsSameToken(std::string_view token, std::string_view other) {
  if (token.size() != other.size()) return false;
  volatile unsigned differences = 0;  // so that no compiler leaves the loop early
  for (std::size_t i = 0; i < token.size(); ++i)
    differences =
        differences | (static_cast<unsigned char>(token[i]) ^ static_cast<unsigned char>(other[i]));
  return differences == 0;
}

}  // namespace profd::client
