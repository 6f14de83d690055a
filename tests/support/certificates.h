// Certificates: authorities and what they sign, made by the openssl command.
#pragma once

#include <filesystem>
#include <string>

#include "daemon/base/result.h"

namespace profd::testing {

// PEM files.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

// Files in a folder of the caller's. A name that is used again is made again in its place.
class Certificates {
 public:
  explicit Certificates(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] static bool CanBeMade();
  [[nodiscard]] Result<CertificateFiles> MakeAuthority(const std::string& name) const;
  // For localhost and 127.0.0.1. `subject`: "/CN=ops", "/O=none". `days` -1: it has expired.
  [[nodiscard]] Result<CertificateFiles> Issue(const CertificateFiles& authority,
                                               const std::string& name, const std::string& subject,
                                               int days = 1) const;

 private:
  [[nodiscard]] CertificateFiles Files(const std::string& name) const;

  const std::filesystem::path folder_;
};

}  // namespace profd::testing
