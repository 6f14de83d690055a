#include "daemon/base/http/host_port.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>

namespace profd {
namespace {

constexpr std::size_t kMostNameBytes = 255;  // of DNS
constexpr std::size_t kMostIpv6Bytes = 64;   // with a zone

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMostNameBytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

// A zone behind % is the name of an interface.
bool IsIpv6(std::string_view text) {
  const std::string_view address = text.substr(0, text.find('%'));
  const bool with_zone = address.size() != text.size();
  return text.size() <= kMostIpv6Bytes && address.find(':') != std::string_view::npos &&
         std::ranges::all_of(address,
                             [](char c) {
                               return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
                                      (c >= '0' && c <= '9') || c == ':' || c == '.';
                             }) &&
         (!with_zone || IsName(text.substr(address.size() + 1)));
}

std::optional<std::uint16_t> Port(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0 ||
      number > std::numeric_limits<std::uint16_t>::max())
    return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

}  // namespace

std::optional<HostPort> ParseHostPort(std::string_view text) {
  std::size_t end = std::min(text.find(':'), text.size());
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos || !IsIpv6(text.substr(1, end - 1))) return std::nullopt;
    ++end;
  } else if (!IsName(text.substr(0, end))) {
    return std::nullopt;
  }
  HostPort parsed{.host = std::string(text.substr(0, end))};
  text.remove_prefix(end);
  if (text.empty()) return parsed;
  if (!text.starts_with(':')) return std::nullopt;
  const auto port = Port(text.substr(1));
  if (!port) return std::nullopt;
  parsed.port = *port;
  return parsed;
}

}  // namespace profd
