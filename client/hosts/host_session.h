// HostSession: one host of a collection from many: its connection, its session, its answer.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/hosts/host_list.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::client {

// What gRPC's threads say of a session. One comes for each call of HostSession that names it, and
// the last kEnded after the session's last message.
enum class HostEvent { kReached, kMessage, kEnded, kStopAnswered };

// Used by one thread, which also takes the events. Must not be destroyed while one is to come.
class HostSession final : public grpc::ClientReadReactor<v1::CollectResponse> {
 public:
  using Clock = std::chrono::system_clock;
  // Called on gRPC's threads; must not call the session.
  using Report = std::function<void(HostEvent)>;

  HostSession(const HostAddress& host, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
              Report report);

  // Connects, by a call that costs nothing: kReached; then `status` says whether it did.
  void Reach(Clock::time_point deadline);
  // kMessage for the first message.
  void Begin(const v1::CollectRequest& request, Clock::time_point deadline);
  // kMessage for the next one, of which `has_message` says whether there is one. If there is none
  // kEnded follows, and then `status` is that of the session.
  void Next();
  // Ends the session early; it still answers. kStopAnswered.
  void Stop(std::uint32_t session, Clock::time_point deadline);
  // Ends whatever is under way; its events come all the same.
  void Cancel();

  [[nodiscard]] const HostAddress& host() const { return host_; }
  [[nodiscard]] const grpc::Status& status() const { return status_; }
  [[nodiscard]] bool has_message() const { return has_message_; }
  [[nodiscard]] const v1::CollectResponse& message() const { return message_; }
  [[nodiscard]] std::string* mutable_chunk() { return message_.mutable_profile_chunk(); }
  // When the request was sent, and the last message came.
  [[nodiscard]] Clock::time_point begun() const { return begun_; }
  [[nodiscard]] Clock::time_point arrived() const { return arrived_; }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const HostAddress host_;
  const Report report_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Profiler::Stub> stub_;
  grpc::ClientContext reach_context_;
  grpc::ClientContext context_;
  grpc::ClientContext stop_context_;
  v1::StatusRequest status_request_;
  v1::StatusResponse status_response_;
  v1::StopRequest stop_request_;
  v1::StopResponse stop_response_;
  v1::CollectRequest request_;
  v1::CollectResponse message_;
  grpc::Status status_;
  bool has_message_ = false;
  Clock::time_point begun_;
  Clock::time_point arrived_;
};

}  // namespace profd::client
