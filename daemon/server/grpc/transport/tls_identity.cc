#include "daemon/server/grpc/transport/tls_identity.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <memory>
#include <utility>

#include "daemon/base/files.h"

namespace profd::server {
namespace {

constexpr std::size_t kMostBytes = 1u << 20;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

Result<std::string> ReadPem(const std::string& path) {
  auto text = ReadFile(path, kMostBytes);
  if (!text && text.error().code == ErrorCode::kExhausted)
    return Error{ErrorCode::kInvalidArgument, path + " is longer than 1 MiB", ""};
  return text;
}

std::unique_ptr<BIO, Free> Bytes(const std::string& text) {
  return std::unique_ptr<BIO, Free>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A daemon has no terminal. Without this callback, OpenSSL would ask at one.
int NoPassphrase(char* /*into*/, int /*size*/, int /*writing*/, void* /*context*/) { return -1; }

// Returns the first certificate of the file, which is the server's own.
Result<Certificate> ParseCertificate(const std::string& text, const std::string& path) {
  ERR_clear_error();
  Certificate certificate(PEM_read_bio_X509(Bytes(text).get(), nullptr, nullptr, nullptr));
  if (certificate) return certificate;
  return Error{ErrorCode::kInvalidArgument, path + " holds no certificate", "it must be PEM"};
}

Result<Key> ParseKey(const std::string& text, const std::string& path) {
  ERR_clear_error();
  Key key(PEM_read_bio_PrivateKey(Bytes(text).get(), nullptr, &NoPassphrase, nullptr));
  if (key) return key;
  return Error{ErrorCode::kInvalidArgument, path + " holds no private key that can be read",
               "it must be PEM, without a passphrase"};
}

}  // namespace

Result<TlsIdentity> LoadTlsIdentity(const TlsFiles& files) {
  TlsIdentity identity;
  for (const auto& [path, into] : {std::pair{&files.certificate, &identity.certificate},
                                   {&files.key, &identity.key},
                                   {&files.client_ca, &identity.client_ca}}) {
    auto text = ReadPem(*path);
    if (!text) return text.error();
    *into = *std::move(text);
  }
  const auto certificate = ParseCertificate(identity.certificate, files.certificate);
  if (!certificate) return certificate.error();
  const auto key = ParseKey(identity.key, files.key);
  if (!key) return key.error();
  if (X509_check_private_key(certificate->get(), key->get()) != 1)
    return Error{ErrorCode::kInvalidArgument, files.key + " is not the key of " + files.certificate,
                 ""};
  if (X509_cmp_current_time(X509_get0_notAfter(certificate->get())) < 0)
    return Error{ErrorCode::kInvalidArgument, files.certificate + " has expired", "renew it"};
  if (const auto ca = ParseCertificate(identity.client_ca, files.client_ca); !ca) return ca.error();
  return identity;
}

TlsFilesStamp ReadStamp(const TlsFiles& files) {
  TlsFilesStamp stamp{};
  std::size_t at = 0;
  for (const auto* path : {&files.certificate, &files.key, &files.client_ca}) {
    struct stat info {};
    if (stat(path->c_str(), &info) != 0) info = {};
    // The inode changes if the file is replaced by rename, even within one tick of its time stamp.
    stamp[at++] = info.st_ino;
    stamp[at++] = static_cast<std::uint64_t>(info.st_size);
    stamp[at++] = static_cast<std::uint64_t>(info.st_mtim.tv_sec);
    stamp[at++] = static_cast<std::uint64_t>(info.st_mtim.tv_nsec);
  }
  return stamp;
}

}  // namespace profd::server
