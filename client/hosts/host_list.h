// HostList: the hosts of a file, a line each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::client {

inline constexpr std::size_t kMostHosts = 1000;

struct HostAddress {
  std::string name;     // what distinguishes it: "web1", with its port where a name has several
  std::string address;  // as GrpcClient takes it: "tls://web1:9898", "unix:/run/x.sock"

  bool operator==(const HostAddress&) const = default;
};

// A line is HOST[:PORT], by TLS, or the path of a unix socket; HOST may be an IPv6 address in
// brackets. "web[01-12,20].example" stands for many. What is behind a # is a comment. A host that
// is listed twice is one. kInvalidArgument, with the line: what is no address, or more than
// kMostHosts; no host at all. `source`: the name of the file, for messages.
[[nodiscard]] Result<std::vector<HostAddress>> ParseHostList(std::string_view text,
                                                             const std::string& source);

struct HostsOfNames {
  std::vector<HostAddress> hosts;
  std::vector<std::string> no_address;  // names that make none
};

// Of names as a fleet has them, by TLS. `pattern` says where a host is: "*.prod.example:9443", in
// which the one * stands for its name. kInvalidArgument: it is no pattern, or they are more than
// kMostHosts.
[[nodiscard]] Result<HostsOfNames> AddressesOf(const std::vector<std::string>& names,
                                               std::string_view pattern);
// kInvalidArgument: it is no pattern.
[[nodiscard]] Result<void> CheckHostPattern(std::string_view pattern);

// Of a file, or of standard input: "-".
[[nodiscard]] Result<std::vector<HostAddress>> ReadHostList(const std::string& path);

}  // namespace profd::client
