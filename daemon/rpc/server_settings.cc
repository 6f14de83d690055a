#include "daemon/rpc/server_settings.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

namespace profd::rpc {
namespace {

constexpr int kKeepaliveMs = 20'000;

}  // namespace

void InitializeGrpc() {
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

}  // namespace profd::rpc
