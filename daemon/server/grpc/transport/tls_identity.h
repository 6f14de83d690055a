// TlsIdentity: the certificate and key of profd, and the CA whose client certificates it accepts.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/base/result.h"

namespace profd::server {

struct TlsFiles {
  std::string certificate;  // PEM: profd's certificate, and those between it and its CA
  std::string key;          // PEM, without a passphrase
  std::string client_ca;    // PEM: the CA that has signed the certificates of clients
};

// The contents of the files. Each file has been parsed, the key belongs to the certificate, and the
// certificate has not expired.
struct TlsIdentity {
  std::string certificate;
  std::string key;
  std::string client_ca;
};
[[nodiscard]] Result<TlsIdentity> LoadTlsIdentity(const TlsFiles& files);

// Changes when one of the files is written, replaced or removed.
using TlsFilesStamp = std::array<std::uint64_t, 12>;
[[nodiscard]] TlsFilesStamp ReadStamp(const TlsFiles& files);

}  // namespace profd::server
