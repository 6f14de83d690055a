// Caller: who makes a call, and how much of the host that is shown.
#pragma once

#include <cstdint>
#include <string>

namespace profd::server {

// Made where a connection is accepted, from what the kernel or the TLS handshake says of it; never
// from anything that the caller writes.
struct Caller {
  enum class Kind : std::uint8_t { kUser, kCertificate };
  Kind kind = Kind::kUser;
  std::uint32_t uid = 0;  // kUser
  std::uint32_t pid = 0;  // kUser: who made the connection; 0: not known
  std::string name;       // of the user, "" when the host has none; of the certificate
  bool sees_all = false;  // else only processes that are wholly this user's
};

// "alice (uid 1000, pid 4242)", "certificate 'ops'".
[[nodiscard]] inline std::string Describe(const Caller& caller) {
  if (caller.kind == Caller::Kind::kCertificate) return "certificate '" + caller.name + "'";
  std::string text = caller.name.empty() ? "a user" : caller.name;
  text.append(" (uid ").append(std::to_string(caller.uid));
  if (caller.pid != 0) text.append(", pid ").append(std::to_string(caller.pid));
  return text.append(")");
}

// The same for all connections of one user, or of one certificate: what limits and ownership go by.
[[nodiscard]] inline std::string ClientOf(const Caller& caller) {
  if (caller.kind == Caller::Kind::kCertificate) return "certificate " + caller.name;
  return "uid " + std::to_string(caller.uid);
}

}  // namespace profd::server
