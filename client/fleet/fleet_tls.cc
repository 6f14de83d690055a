#include "client/fleet/fleet_tls.h"

#include <cstdlib>

namespace profd::client {

Result<TlsFiles> FleetTlsFiles(const TlsFiles& named, const ClickHouseAddress& address) {
  if (!address.tls && named != TlsFiles{})
    return Error{ErrorCode::kInvalidArgument,
                 "TLS files are named, but the fleet's address is none for TLS",
                 "write clickhouses://HOST/DATABASE"};
  const auto either = [](const std::string& file, const char* variable) {
    const char* environment = file.empty() ? std::getenv(variable) : nullptr;
    return environment != nullptr ? std::string(environment) : file;
  };
  TlsFiles files{.ca = either(named.ca, "PROFD_FLEET_TLS_CA"),
                 .certificate = either(named.certificate, "PROFD_FLEET_TLS_CERT"),
                 .key = either(named.key, "PROFD_FLEET_TLS_KEY")};
  if (files.certificate.empty() == files.key.empty()) return files;
  return Error{ErrorCode::kInvalidArgument, "TLS needs both a certificate and its key",
               "name them: --tls-cert FILE --tls-key FILE, or PROFD_FLEET_TLS_CERT and "
               "PROFD_FLEET_TLS_KEY"};
}

}  // namespace profd::client
