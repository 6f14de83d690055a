#include "client/link/channel.h"

#include <grpc/support/log.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxPemBytes = 1u << 20;
constexpr std::string_view kHint = "is profd running there?";
constexpr std::string_view kTlsHint =
    "is the certificate signed by that profd's tls.client_ca, and not expired? its log says whom "
    "it refused";

Result<std::string> ReadPem(const std::string& path) {
  if (Result<std::string> text = ReadFile(path, kMaxPemBytes); text && !text->empty()) return text;
  return Error{ErrorCode::kIo, "cannot read " + path,
               "it must be a PEM file; see --tls-ca, --tls-cert and --tls-key"};
}

// What gRPC says of a handshake comes back as the reason of the call; other lines are gRPC's own.
void LogWithoutHandshakes(gpr_log_func_args* said) {
  if (std::string_view(said->file).ends_with("ssl_transport_security.cc")) return;
  std::fprintf(stderr, "profctl: gRPC: %s:%d: %s\n", said->file, said->line, said->message);
}

}  // namespace

// "failed to connect to all addresses; last error: UNKNOWN: ...: Connection refused" is for those
// who read gRPC's source; the last words are for people.
std::string ReasonIn(const std::string& message) {
  const std::size_t colon = message.rfind(": ");
  std::string reason = colon == std::string::npos ? message : message.substr(colon + 2);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z')
    reason[0] = static_cast<char>(reason[0] - 'A' + 'a');
  return reason;
}

Error Unreachable(const std::string& address, const std::string& reason) {
  // TLS 1.3 does not say why a certificate was refused.
  return Error{ErrorCode::kUnavailable, "cannot reach profd at " + address + ": " + reason,
               std::string(address.starts_with(kTlsScheme) ? kTlsHint : kHint)};
}

Result<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty())
    return Error{ErrorCode::kInvalidArgument, "TLS needs a certificate and its key",
                 "name them: --tls-cert FILE --tls-key FILE, or PROFD_TLS_CERT and PROFD_TLS_KEY"};
  gpr_set_log_function(&LogWithoutHandshakes);
  grpc::SslCredentialsOptions options;
  for (const auto& [path, into] : {std::pair{&files.ca, &options.pem_root_certs},
                                   {&files.certificate, &options.pem_cert_chain},
                                   {&files.key, &options.pem_private_key}}) {
    if (path->empty()) continue;
    auto text = ReadPem(*path);
    if (!text) return text.error();
    *into = *std::move(text);
  }
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments ChannelArgumentsForProfd(int most_bytes) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(most_bytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace profd::client
