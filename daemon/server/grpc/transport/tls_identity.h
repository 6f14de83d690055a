// TlsIdentity: what profd shows to clients by TLS, and by whose word it believes them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/base/result.h"

namespace profd::server {

struct TlsFiles {
  std::string certificate;  // PEM: ours, and those between it and its CA
  std::string key;          // PEM, without a passphrase
  std::string client_ca;    // PEM: who has signed the certificates of clients
};

// Their contents, checked: they are what they should be, the key is the certificate's, and that has
// not expired.
struct TlsIdentity {
  std::string certificate;
  std::string key;
  std::string client_ca;
};
[[nodiscard]] Result<TlsIdentity> LoadTlsIdentity(const TlsFiles& files);

// Changes when one of the files is written or replaced; a file that is missing is a state as well.
using TlsFilesStamp = std::array<std::uint64_t, 12>;
[[nodiscard]] TlsFilesStamp StampOf(const TlsFiles& files);

}  // namespace profd::server
