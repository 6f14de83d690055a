#include "daemon/server/grpc/auth/certificate_names.h"

#include <openssl/asn1.h>
#include <openssl/crypto.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace profd::server {
namespace {

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(unsigned char* text) const { OPENSSL_free(text); }
};

void Add(const ASN1_STRING* text, CertificateName::Kind kind, std::vector<CertificateName>& names) {
  unsigned char* bytes = nullptr;
  const int length = text == nullptr ? -1 : ASN1_STRING_to_UTF8(&bytes, text);
  const std::unique_ptr<unsigned char, Free> owned(bytes);
  if (length <= 0) return;
  std::string name(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
  // "ops\0.example" must not pass for "ops" anywhere.
  if (name.find('\0') == std::string::npos) names.push_back({kind, std::move(name)});
}

}  // namespace

Result<std::vector<CertificateName>> NamesInCertificate(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<X509, Free> certificate(
      d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
  if (!certificate) return Error{ErrorCode::kCorrupt, "it is no certificate", ""};
  std::vector<CertificateName> names;
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const int common = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (common >= 0)
    Add(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, common)),
        CertificateName::Kind::kCommonName, names);
  const std::unique_ptr<GENERAL_NAMES, Free> alternative(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternative.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternative.get(), i);
    if (name->type == GEN_DNS) Add(name->d.dNSName, CertificateName::Kind::kDns, names);
    if (name->type == GEN_URI)
      Add(name->d.uniformResourceIdentifier, CertificateName::Kind::kUri, names);
  }
  return names;
}

}  // namespace profd::server
