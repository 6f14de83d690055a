// Caller: the user or certificate that makes a call, and how much of the host it may see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/result.h"

namespace profd::server {

// What a client with a certificate may do: a reader only looks at the history and at the status.
enum class Role : std::uint8_t { kOperator, kReader };
[[nodiscard]] inline const char* NameOf(Role role) {
  return role == Role::kReader ? "reader" : "operator";
}

// It is made when a connection is accepted, from what the kernel or the TLS handshake says, and
// never from anything that the client writes.
struct Caller {
  enum class Kind : std::uint8_t { kUser, kCertificate };
  Kind kind = Kind::kUser;
  std::uint32_t uid = 0;        // kUser
  std::uint32_t pid = 0;        // kUser: the process that made the connection; 0: unknown
  std::string name;             // of the user ("": the host has none) or of the certificate
  bool sees_all = false;        // false: only processes that this user owns exclusively
  Role role = Role::kOperator;  // of users, too
  // The answer to every call of a caller who may make none; none: the caller may.
  std::optional<Error> refusal{};
};

// "alice (uid 1000, pid 4242)", "certificate 'ops'".
[[nodiscard]] inline std::string Describe(const Caller& caller) {
  if (caller.kind == Caller::Kind::kCertificate) return "certificate '" + caller.name + "'";
  std::string text = caller.name.empty() ? "a user" : caller.name;
  text.append(" (uid ").append(std::to_string(caller.uid));
  if (caller.pid != 0) text.append(", pid ").append(std::to_string(caller.pid));
  return text.append(")");
}

// The key of limits and of the ownership of sessions. It is the same for all connections of one
// user or of one certificate.
[[nodiscard]] inline std::string ClientName(const Caller& caller) {
  if (caller.kind == Caller::Kind::kCertificate) return "certificate " + caller.name;
  return "uid " + std::to_string(caller.uid);
}

}  // namespace profd::server
