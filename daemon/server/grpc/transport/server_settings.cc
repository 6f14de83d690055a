#include "daemon/server/grpc/transport/server_settings.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <cstdio>
#include <string_view>

namespace profd::server {
namespace {

constexpr int kKeepaliveMs = 20'000;

// Each handshake that fails would be a line, at the pleasure of whoever connects; TlsListener says
// the same with a limit. GRPC_VERBOSITY decides about the rest, as ever.
void Log(gpr_log_func_args* said) {
  if (std::string_view(said->file).ends_with("ssl_transport_security.cc")) return;
  std::fprintf(stderr, "gRPC: %s:%d: %s\n", said->file, said->line, said->message);
}

}  // namespace

void InitializeGrpc() {
  gpr_set_log_function(&Log);
  grpc_init();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
}

void ApplySettings(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
}

}  // namespace profd::server
