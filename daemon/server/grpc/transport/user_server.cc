#include "daemon/server/grpc/transport/user_server.h"

#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <string>
#include <utility>

#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/transport/server_settings.h"

namespace profd::server {
namespace {

// A stranger's connection that nothing is done with.
constexpr int kPublicIdleMs = 60'000;
// Each call under way takes one.
constexpr int kTrustedThreads = 256;
constexpr int kPublicThreads = 32;

}  // namespace

Result<std::unique_ptr<UserServer>> UserServer::Start(const Caller& caller, const Gate& gate) {
  std::unique_ptr<UserServer> user(new UserServer(caller, gate));
  grpc::ServerBuilder builder;
  ApplySettings(builder);
  builder.SetMaxReceiveMessageSize(LimitsOf(caller).max_request_bytes);
  if (!caller.sees_all) builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kPublicIdleMs);
  grpc::ResourceQuota quota("user " + std::to_string(caller.uid));
  quota.SetMaxThreads(caller.sees_all ? kTrustedThreads : kPublicThreads);
  builder.SetResourceQuota(quota);
  builder.RegisterService(&user->service_);
  user->server_ = builder.BuildAndStart();
  if (!user->server_) return Error{ErrorCode::kInternal, "gRPC makes no server", ""};
  user->health_.emplace(gate.serving, *user->server_);
  return user;
}

UserServer::UserServer(Caller caller, const Gate& gate)
    : caller_(std::move(caller)),
      service_(gate, [this](const grpc::ServerContext& context) { return CallerOf(context); }) {}

UserServer::~UserServer() { Shutdown(std::chrono::system_clock::now()); }

void UserServer::Add(UniqueFd connection, pid_t pid) {
  {
    // A later connection may get the number of one that has ended; then a late call of that one is
    // said to be of the wrong process of the right user.
    const std::scoped_lock lock(mutex_);
    pids_["fd:" + std::to_string(connection.get())] = static_cast<std::uint32_t>(pid);
  }
  grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
}

Caller UserServer::CallerOf(const grpc::ServerContext& context) const {
  Caller caller = caller_;
  const std::scoped_lock lock(mutex_);
  if (const auto found = pids_.find(context.peer()); found != pids_.end())
    caller.pid = found->second;
  return caller;
}

void UserServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!server_) return;
  health_.reset();
  server_->Shutdown(deadline);
  server_->Wait();
  server_.reset();
}

}  // namespace profd::server
