// CertificateNames: the names in a certificate that a TLS library has checked.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/server/grpc/auth/roles.h"

namespace profd::server {

// The first common name of the subject, then alternative names, DNS and URI. Names with a zero byte
// are left out. kCorrupt: the bytes, in DER, are no certificate.
[[nodiscard]] Result<std::vector<CertificateName>> NamesInCertificate(const std::string& der);

}  // namespace profd::server
