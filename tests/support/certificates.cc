#include "tests/support/certificates.h"

#include <fstream>
#include <vector>

#include "tests/support/subprocess.h"

namespace profd::testing {
namespace {

Result<void> OpenSsl(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"openssl"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto outcome = Run(command);
  if (outcome.exit_code == 0) return {};
  return Error{ErrorCode::kInternal, outcome.err, ""};
}

const std::vector<std::string> kNewKey{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                       "-nodes"};

std::vector<std::string> With(std::vector<std::string> some, const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

}  // namespace

bool Certificates::CanBeMade() { return Run({"openssl", "version"}).exit_code == 0; }

CertificateFiles Certificates::Files(const std::string& name) const {
  return {(folder_ / (name + ".pem")).string(), (folder_ / (name + ".key")).string()};
}

Result<CertificateFiles> Certificates::MakeAuthority(const std::string& name) const {
  const auto files = Files(name);
  PROFD_TRY(OpenSsl(With({"req", "-x509", "-days", "1", "-subj", "/CN=" + name, "-keyout",
                          files.key, "-out", files.certificate},
                         kNewKey)));
  return files;
}

Result<CertificateFiles> Certificates::Issue(const CertificateFiles& authority,
                                             const std::string& name, const std::string& subject,
                                             int days) const {
  const auto files = Files(name);
  const auto request = (folder_ / (name + ".csr")).string();
  const auto extensions = (folder_ / (name + ".ext")).string();
  std::ofstream(extensions) << "subjectAltName=DNS:localhost,IP:127.0.0.1\n";
  PROFD_TRY(
      OpenSsl(With({"req", "-subj", subject, "-keyout", files.key, "-out", request}, kNewKey)));
  PROFD_TRY(OpenSsl({"x509", "-req", "-in", request, "-CA", authority.certificate, "-CAkey",
                     authority.key, "-CAcreateserial", "-days", std::to_string(days), "-extfile",
                     extensions, "-out", files.certificate}));
  return files;
}

}  // namespace profd::testing
