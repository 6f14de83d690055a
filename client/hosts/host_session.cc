#include "client/hosts/host_session.h"

#include <grpcpp/create_channel.h>

#include <utility>

#include "client/link/channel.h"
#include "client/link/host.h"

namespace profd::client {
namespace {

// profd sends parts of 1 MiB. Each host may have one of them here at any time.
constexpr int kMostMessageBytes = 2 << 20;

std::string GrpcAddress(const std::string& address) {
  return address.starts_with(kTlsScheme) ? address.substr(kTlsScheme.size()) : address;
}

}  // namespace

HostSession::HostSession(const HostAddress& host,
                         const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                         Report report)
    : host_(host),
      report_(std::move(report)),
      channel_(grpc::CreateCustomChannel(GrpcAddress(host.address), credentials,
                                         ChannelArgumentsForProfd(kMostMessageBytes))),
      stub_(v1::Profiler::NewStub(channel_)) {}

void HostSession::Reach(Clock::time_point deadline) {
  reach_context_.set_deadline(deadline);
  stub_->async()->Status(&reach_context_, &status_request_, &status_response_,
                         [this](const grpc::Status& status) {
                           status_ = status;
                           report_(HostEvent::kReached);
                         });
}

void HostSession::Begin(const v1::CollectRequest& request, Clock::time_point deadline) {
  request_ = request;
  context_.set_deadline(deadline);
  begun_ = Clock::now();
  stub_->async()->Collect(&context_, &request_, this);
  // Messages are taken later, on another thread: until the last one the call must not end.
  AddHold();
  StartRead(&message_);
  StartCall();
}

void HostSession::Next() { StartRead(&message_); }

void HostSession::Stop(std::uint32_t session, Clock::time_point deadline) {
  stop_request_.set_session(session);
  stop_context_.set_deadline(deadline);
  stub_->async()->Stop(&stop_context_, &stop_request_, &stop_response_,
                       [this](const grpc::Status&) { report_(HostEvent::kStopAnswered); });
}

void HostSession::Cancel() {
  reach_context_.TryCancel();
  context_.TryCancel();
}

void HostSession::OnReadDone(bool ok) {
  arrived_ = Clock::now();
  has_message_ = ok;
  report_(HostEvent::kMessage);
  if (!ok) RemoveHold();
}

void HostSession::OnDone(const grpc::Status& status) {
  status_ = status;
  report_(HostEvent::kEnded);
}

}  // namespace profd::client
