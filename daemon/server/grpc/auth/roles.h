// Roles: what a client with a certificate may do, by the names in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/server/grpc/auth/caller.h"

namespace profd::server {

// A name in a certificate: the common name of its subject, or an alternative one.
struct CertificateName {
  enum class Kind : std::uint8_t { kCommonName, kDns, kUri };
  Kind kind = Kind::kCommonName;
  std::string text;

  friend bool operator==(const CertificateName&, const CertificateName&) = default;
};

// A list is written "CN=ops, DNS=web1.example, URI=spiffe://example/ops", or "*" for every
// certificate of the CA. Names are compared as they are. Immutable.
class Roles {
 public:
  // Every certificate is of an operator.
  Roles() = default;
  // kInvalidArgument: what is no list.
  [[nodiscard]] static Result<Roles> Parse(std::string_view operators, std::string_view readers);
  // Of a certificate with these names. A name counts more than "*"; a certificate that both lists
  // name, or neither and both have "*", is of a reader. None: in neither list.
  [[nodiscard]] std::optional<Role> Of(const std::vector<CertificateName>& names) const;

 private:
  struct List {
    bool all = false;
    std::vector<CertificateName> names;
  };
  [[nodiscard]] static Result<List> ParseList(std::string_view text);
  [[nodiscard]] static bool IsNamed(const List& list, const std::vector<CertificateName>& names);

  List operators_{.all = true, .names = {}};
  List readers_;
};

// The caller behind a certificate that the CA has signed, by its names; one without a role is
// refused. It is called by the common name, else by the first alternative one.
[[nodiscard]] Caller CallerOf(const std::vector<CertificateName>& names, const Roles& roles);

}  // namespace profd::server
