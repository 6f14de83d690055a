// TlsFiles: what a client by TLS knows.
#pragma once

#include <string>

namespace profd {

// Files in PEM. Passive.
struct TlsFiles {
  std::string ca = {};           // who has signed the server's certificate; "": those of the system
  std::string certificate = {};  // ours, by which the server knows us; "": none
  std::string key = {};          // its key, without a passphrase
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

}  // namespace profd
