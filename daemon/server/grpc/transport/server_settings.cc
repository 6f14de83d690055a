#include "daemon/server/grpc/transport/server_settings.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

namespace profd::server {
namespace {

// Of one connection. More calls than a client may have wait at the client, and not in our memory.
constexpr int kMaxStreams = 128;
constexpr int kMaxMetadataBytes = 8 << 10;

// Plugins add services to all servers, reflection among them.
class NoPlugins final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->clear();
  }
};

// gRPC logs each handshake that fails, so any client could fill the log. TlsListener logs them with
// a rate limit instead. GRPC_VERBOSITY still decides about all other messages.
void Log(gpr_log_func_args* message) {
  if (std::string_view(message->file).ends_with("ssl_transport_security.cc")) return;
  std::fprintf(stderr, "gRPC: %s:%d: %s\n", message->file, message->line, message->message);
}

}  // namespace

void InitializeGrpc() {
  gpr_set_log_function(&Log);
  grpc_init();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
}

void RemoveCommonServices(grpc::ServerBuilder& builder) {
  builder.SetOption(std::make_unique<NoPlugins>());
  builder.SetOption(std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(nullptr));
}

void ApplySettings(grpc::ServerBuilder& builder, const ClientTimes& times) {
  const auto set = [&](const char* argument, std::chrono::milliseconds time) {
    builder.AddChannelArgument(argument, static_cast<int>(time.count()));
  };
  // One completion queue each: there is a server per user, and each queue has threads.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, times.handshake);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, times.keepalive);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, times.keepalive);
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, times.idle);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
}

}  // namespace profd::server
