#include "client/fleet/schema/schema_setup.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::client {
namespace {

constexpr std::uint32_t kLeastMajor = 24;
constexpr std::uint32_t kLeastMinor = 8;
// A statement for a cluster waits for all of its servers.
constexpr auto kTimeout = std::chrono::minutes(3);
// Of rights: unknown user, wrong and missing password, read-only, access denied, authentication.
constexpr std::array kRights = {192, 193, 194, 164, 497, 516};

std::vector<std::string> HeadersOf(const std::string& password) {
  if (password.empty()) return {};
  return {"x-clickhouse-key: " + password};
}

// A number at the begin of a text, which loses it; 0: there is none.
std::uint32_t TakeNumber(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? number : 0;
}

class Setup {
 public:
  explicit Setup(const SchemaAccess& access)
      : place_{access.address.database, access.address.cluster},
        where_(access.address.url),
        server_(WithoutDatabase(access.address), HeadersOf(access.password), access.tls),
        database_(access.address, HeadersOf(access.password), access.tls) {}

  Result<SchemaResult> Run() {
    PROFD_TRY(CheckServer());
    PROFD_TRY(Do(server_, DatabaseStatement(place_)));
    const auto before = Version();
    if (!before) return before.error();
    if (*before > kFleetSchemaVersion)
      return Error{ErrorCode::kUnsupported,
                   "the tables in " + place_.database + " at " + where_ + " are of version " +
                       std::to_string(*before) + "; this profctl knows version " +
                       std::to_string(kFleetSchemaVersion),
                   "use the newer profctl that made them"};
    for (const std::string& statement : SchemaStatements(place_))
      PROFD_TRY(Do(database_, statement));
    if (*before < kFleetSchemaVersion)
      PROFD_TRY(Do(database_, "INSERT INTO schema_version (version, made_by, time) SELECT " +
                                  std::to_string(kFleetSchemaVersion) +
                                  ", '" PROFD_VERSION "', now()"));
    return SchemaResult{*before, kFleetSchemaVersion};
  }

 private:
  // Before there is the database, a statement must not be in it.
  static ClickHouseAddress WithoutDatabase(ClickHouseAddress address) {
    address.database = "default";
    return address;
  }

  Result<std::string> Answer(ClickHouseClient& client, const std::string& sql) {
    ClickHouseAnswer answer = client.Run({.sql = sql, .settings = {}, .timeout = kTimeout});
    if (answer.ok()) return std::move(answer.body);
    const ClickHouseFailure& failure = answer.failure;
    const std::string message = "ClickHouse at " + where_ + ": " + failure.message;
    if (std::ranges::find(kRights, failure.code) != kRights.end())
      return Error{ErrorCode::kPermissionDenied, message,
                   "name a user that may create tables in --to, with its password in "
                   "PROFD_FLEET_PASSWORD or in the file of --fleet-password-from"};
    if (failure.tls)
      return Error{ErrorCode::kUnavailable, message,
                   "the host in --to must be a name in the server's certificate, which the "
                   "authorities of --tls-ca FILE have signed; a server that requires a certificate "
                   "gets that of --tls-cert and --tls-key"};
    if (failure.status == 0)
      return Error{ErrorCode::kUnavailable, message,
                   "the port is that of HTTP, 8123 by default, or 8443 by clickhouses://"};
    return Error{ErrorCode::kIo, message, ""};
  }

  Result<void> Do(ClickHouseClient& client, const std::string& sql) {
    const auto answer = Answer(client, sql);
    if (!answer) return answer.error();
    return {};
  }

  Result<void> CheckServer() {
    const auto version = Answer(server_, "SELECT version() FORMAT TSV");
    if (!version) return version.error();
    std::string_view text = *version;
    while (text.ends_with('\n')) text.remove_suffix(1);
    const std::string shown(text.substr(0, 40));
    const std::uint32_t major = TakeNumber(text);
    if (text.starts_with('.')) text.remove_prefix(1);
    const std::uint32_t minor = TakeNumber(text);
    if (major > kLeastMajor || (major == kLeastMajor && minor >= kLeastMinor)) return {};
    return Error{
        ErrorCode::kUnsupported,
        "the server at " + where_ + " is ClickHouse " + shown + "; the tables need 24.8 or newer",
        ""};
  }

  // 0: there are no tables.
  Result<std::uint32_t> Version() {
    const auto there = Answer(database_, "EXISTS TABLE schema_version FORMAT TSV");
    if (!there) return there.error();
    if (!there->starts_with('1')) return 0u;
    const auto version = Answer(database_, "SELECT max(version) FROM schema_version FORMAT TSV");
    if (!version) return version.error();
    std::string_view text = *version;
    return TakeNumber(text);
  }

  const FleetPlace place_;
  const std::string where_;
  ClickHouseClient server_;
  ClickHouseClient database_;
};

}  // namespace

Result<SchemaResult> SetUpSchema(const SchemaAccess& access) { return Setup(access).Run(); }

}  // namespace profd::client
