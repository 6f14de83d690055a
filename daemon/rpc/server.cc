#include "daemon/rpc/server.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "daemon/rpc/listen_address.h"

namespace profd::rpc {
namespace {

// A caller that does not answer for this long (stopped, or its machine suspended) is gone.
constexpr int kKeepaliveMs = 20'000;

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(const std::string& address,
                                              ProfilerService& service) {
  const auto place = ParseListenAddress(address);
  if (!place) return place.error();
  if (!place->socket_path.empty()) PROFD_TRY(PrepareSocket(place->socket_path));

  // Never undone: at its end gRPC waits up to 10 s for a poller of its own where a large profile
  // was sent.
  grpc_init();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(place->grpc, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  builder.SetMaxReceiveMessageSize(1 << 20);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server || port == 0)
    return Error{ErrorCode::kIo, "cannot listen at " + address,
                 "is the address in use, or its directory not writable?"};
  // Bound with profd's umask, so nobody else could connect before this.
  if (!place->socket_path.empty() && chmod(place->socket_path.c_str(), 0660) != 0)
    return ErrorFromErrno(errno, "cannot set the mode of " + place->socket_path);
  return std::unique_ptr<Server>(new Server(address, place->socket_path, std::move(server), port));
}

Server::Server(std::string address, std::string socket_path, std::unique_ptr<grpc::Server> server,
               int port)
    : address_(std::move(address)),
      socket_path_(std::move(socket_path)),
      server_(std::move(server)),
      port_(port) {}

Server::~Server() { Shutdown(std::chrono::milliseconds{0}); }

void Server::Shutdown(std::chrono::milliseconds grace) {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now() + grace);
  server_->Wait();
  server_.reset();
}

}  // namespace profd::rpc
