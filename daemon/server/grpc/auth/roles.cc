#include "daemon/server/grpc/auth/roles.h"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/base/utf8.h"

namespace profd::server {
namespace {

constexpr std::string_view kSpace = " ";
constexpr std::array<std::pair<std::string_view, CertificateName::Kind>, 3> kKinds{
    {{"CN=", CertificateName::Kind::kCommonName},
     {"DNS=", CertificateName::Kind::kDns},
     {"URI=", CertificateName::Kind::kUri}}};

}  // namespace

Result<Roles::List> Roles::ParseList(std::string_view text) {
  List list;
  for (bool more = !Trimmed(text, kSpace).empty(); more;) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = Trimmed(text.substr(0, comma), kSpace);
    const auto* kind =
        std::ranges::find_if(kKinds, [&](const auto& one) { return entry.starts_with(one.first); });
    if (entry == "*") {
      list.all = true;
    } else if (kind != kKinds.end() && entry.size() > kind->first.size()) {
      list.names.push_back({kind->second, std::string(entry.substr(kind->first.size()))});
    } else {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + std::string(entry) + "' is no name of a certificate",
                   "write CN=NAME, DNS=NAME or URI=NAME, with commas between them, or *"};
    }
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return list;
}

Result<Roles> Roles::Parse(std::string_view operators, std::string_view readers) {
  Roles roles;
  for (const auto& [text, into] :
       {std::pair{operators, &roles.operators_}, {readers, &roles.readers_}}) {
    auto list = ParseList(text);
    if (!list) return list.error();
    *into = *std::move(list);
  }
  return roles;
}

bool Roles::IsNamed(const List& list, const std::vector<CertificateName>& names) {
  return std::ranges::any_of(names, [&](const auto& name) {
    return std::ranges::find(list.names, name) != list.names.end();
  });
}

std::optional<Role> Roles::Of(const std::vector<CertificateName>& names) const {
  // A name says more than "*"; of two of a kind the lesser right counts.
  if (IsNamed(readers_, names)) return Role::kReader;
  if (IsNamed(operators_, names)) return Role::kOperator;
  if (readers_.all) return Role::kReader;
  if (operators_.all) return Role::kOperator;
  return std::nullopt;
}

Caller CallerOf(const std::vector<CertificateName>& names, const Roles& roles) {
  Caller caller;
  caller.kind = Caller::Kind::kCertificate;
  if (!names.empty()) caller.name = names.front().text;
  const auto role = roles.Of(names);
  if (role) {
    caller.sees_all = true;
    caller.role = *role;
    return caller;
  }
  caller.refusal = Error{ErrorCode::kPermissionDenied, Describe(caller) + " has no role here",
                         "its name must be in tls.operators or tls.readers of that profd"};
  return caller;
}

}  // namespace profd::server
