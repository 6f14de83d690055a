// SchemaSetup: makes a fleet's tables on a server, or brings them up to date.
#pragma once

#include <cstdint>
#include <string>

#include "client/fleet/schema/fleet_schema.h"
#include "daemon/base/clickhouse/clickhouse_client.h"
#include "daemon/base/http/tls_files.h"
#include "daemon/base/result.h"

namespace profd::client {

struct SchemaAccess {
  ClickHouseAddress address;
  std::string password;  // "": none
  TlsFiles tls;
};

struct SchemaResult {
  std::uint32_t before = 0;  // 0: there were no tables
  std::uint32_t now = 0;
};

// Can be done again at any time, also after it broke off. kUnsupported: the server is too old, or
// has tables of a newer profctl, which are left alone. kPermissionDenied: user, password or rights.
// kUnavailable: no answer. HttpClient::PrepareProcess was called.
[[nodiscard]] Result<SchemaResult> SetUpSchema(const SchemaAccess& access);

}  // namespace profd::client
