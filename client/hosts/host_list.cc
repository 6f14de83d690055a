#include "client/hosts/host_list.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "client/link/host.h"
#include "client/text/number.h"
#include "client/text/text.h"
#include "daemon/base/files.h"
#include "daemon/base/http/host_port.h"
#include "daemon/base/utf8.h"

namespace profd::client {
namespace {

constexpr std::uint16_t kDefaultPort = 9898;
constexpr std::size_t kMostBytes = 1u << 20;
constexpr std::size_t kMostDigits = 6;

Error BadLine(const std::string& source, std::size_t line, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument, source + ":" + std::to_string(line) + ": " + why,
               "a line is HOST[:PORT], web[01-12].example, or the path of a unix socket"};
}

std::optional<std::uint32_t> Number(std::string_view text) {
  std::uint32_t number = 0;
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "01-12" and "7", with leading zeros kept; false: it is neither, or too many.
bool AddRange(std::string_view text, std::vector<std::string>& values) {
  const std::size_t dash = text.find('-');
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : text.substr(dash + 1);
  const auto from = Number(first);
  const auto to = Number(last);
  if (!from || !to || *from > *to || *to - *from >= kMostHosts) return false;
  for (std::uint32_t number = *from; number <= *to; ++number) {
    std::string digits = std::to_string(number);
    if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
    values.push_back(std::move(digits));
  }
  return values.size() <= kMostHosts;
}

// An address of IPv6 has brackets, too, but no range in them.
bool BeginsWithIpv6(std::string_view text) {
  return text.starts_with('[') &&
         text.substr(0, text.find(']')).find(':') != std::string_view::npos;
}

// Of a host, and no more than that.
bool IsName(const std::string& text) {
  const auto place = ParseHostPort(text);
  return place && place->host == text && place->port == 0 && !BeginsWithIpv6(text);
}

std::string AddressOf(const HostPort& place) {
  return std::string(kTlsScheme) + place.host + ":" + std::to_string(place.port);
}

// What "web[1-3]-[a]" stands for; none: it is not written so. More than kMostHosts: some of them.
std::optional<std::vector<std::string>> Expand(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return std::vector<std::string>{std::string(text)};
  const std::size_t close = text.find(']', open);
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view list = text.substr(open + 1, close - open - 1);
  std::vector<std::string> values;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    if (!AddRange(list.substr(0, comma), values)) return std::nullopt;
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  const auto rest = Expand(text.substr(close + 1));
  if (!rest) return std::nullopt;
  std::vector<std::string> all;
  for (const std::string& value : values)
    for (const std::string& end : *rest) {
      all.push_back(std::string(text.substr(0, open)).append(value).append(end));
      if (all.size() > kMostHosts) return all;
    }
  return all;
}

struct Listed {
  HostPort place;
  std::string socket;  // instead of it
};

std::vector<HostAddress> Named(const std::vector<Listed>& all) {
  std::map<std::string, std::set<std::uint16_t>> ports;
  for (const Listed& one : all) ports[one.place.host].insert(one.place.port);
  std::vector<HostAddress> hosts;
  std::set<std::string> seen;
  for (const Listed& one : all) {
    HostAddress host{one.socket, "unix:" + one.socket};
    if (one.socket.empty()) {
      const std::string whole = one.place.host + ":" + std::to_string(one.place.port);
      host = {ports[one.place.host].size() > 1 ? whole : one.place.host,
              std::string(kTlsScheme) + whole};
    }
    if (seen.insert(host.address).second) hosts.push_back(std::move(host));
  }
  return hosts;
}

Result<std::string> ReadStandardInput() {
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (text.size() <= kMostBytes) {
    const ssize_t got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorFromErrno(errno, "cannot read the hosts from standard input");
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return Error{ErrorCode::kInvalidArgument, "the list of hosts is longer than 1 MiB", ""};
}

}  // namespace

Result<std::vector<HostAddress>> ParseHostList(std::string_view text, const std::string& source) {
  std::vector<Listed> all;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = Trimmed(line.substr(0, line.find('#')));
    if (line.starts_with(kTlsScheme)) line.remove_prefix(kTlsScheme.size());
    if (line.empty()) continue;
    if (line.starts_with('/') || line.starts_with("unix:")) {
      line.remove_prefix(std::min(line.find('/'), line.size()));
      all.push_back({{}, std::string(line.starts_with("///") ? line.substr(2) : line)});
      continue;
    }
    const auto names =
        BeginsWithIpv6(line) ? std::vector<std::string>{std::string(line)} : Expand(line);
    if (!names)
      return BadLine(source, number, "'" + SafeText(line) + "' has no range in its brackets");
    for (const std::string& name : *names) {
      auto place = ParseHostPort(name);
      if (!place) return BadLine(source, number, "'" + SafeText(name) + "' is no host");
      if (place->port == 0) place->port = kDefaultPort;
      all.push_back({*std::move(place), ""});
    }
    if (all.size() > 2 * kMostHosts) break;
  }
  std::vector<HostAddress> hosts = Named(all);
  if (hosts.empty())
    return Error{ErrorCode::kInvalidArgument, source + " names no host", "write one on each line"};
  if (hosts.size() > kMostHosts)
    return Error{ErrorCode::kInvalidArgument,
                 source + " names more than " + std::to_string(kMostHosts) + " hosts",
                 "collect from some of them at a time"};
  return hosts;
}

Result<void> CheckHostPattern(std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  std::string example(pattern);
  if (star != std::string_view::npos) example.replace(star, 1, "web1");
  if (star != std::string_view::npos && ParseHostPort(example)) return {};
  return Error{ErrorCode::kInvalidArgument,
               "'" + SafeText(pattern) + "' does not say where a host is",
               "the * stands for its name, as in *:9898 or *.prod.example:9898"};
}

Result<HostsOfNames> AddressesOf(const std::vector<std::string>& names, std::string_view pattern) {
  PROFD_TRY(CheckHostPattern(pattern));
  if (names.size() > kMostHosts)
    return Error{ErrorCode::kInvalidArgument,
                 FormatCount(names.size()) + " hosts are more than the " + FormatCount(kMostHosts) +
                     " from which can be collected at one time",
                 "name a part of them: --host 'web-1*', --zone or --version"};
  const std::size_t star = pattern.find('*');
  HostsOfNames all;
  for (const std::string& name : names) {
    // A name is what a host says of itself, so it may be anything.
    auto place =
        IsName(name) ? ParseHostPort(std::string(pattern).replace(star, 1, name)) : std::nullopt;
    if (!place) {
      all.no_address.push_back(name);
      continue;
    }
    if (place->port == 0) place->port = kDefaultPort;
    all.hosts.push_back({name, AddressOf(*place)});
  }
  return all;
}

Result<std::vector<HostAddress>> ReadHostList(const std::string& path) {
  const Result<std::string> text = path == "-" ? ReadStandardInput() : ReadFile(path, kMostBytes);
  if (!text) return text.error();
  return ParseHostList(*text, path == "-" ? "standard input" : path);
}

}  // namespace profd::client
