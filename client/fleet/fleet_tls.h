// FleetTlsFiles: files for a fleet's store by TLS.
#pragma once

#include <string>

#include "daemon/base/clickhouse/clickhouse_client.h"
#include "daemon/base/http/tls_files.h"
#include "daemon/base/result.h"

namespace profd::client {

// Those of the options --tls-ca, --tls-cert and --tls-key, else of PROFD_FLEET_TLS_CA,
// PROFD_FLEET_TLS_CERT and PROFD_FLEET_TLS_KEY: a fleet's store and its profds may know different
// authorities. kInvalidArgument: a certificate without its key, or an option for an address that is
// not by TLS.
[[nodiscard]] Result<TlsFiles> FleetTlsFiles(const TlsFiles& named,
                                             const ClickHouseAddress& address);

// What to do where TLS fails.
inline constexpr const char* kFleetTlsHint =
    "the host in the address must be a name in the server's certificate, which the authorities of "
    "--tls-ca FILE have signed; a server that requires a certificate gets that of --tls-cert and "
    "--tls-key";

}  // namespace profd::client
