#include "daemon/server/grpc/transport/call_watch.h"

#include <grpc/grpc.h>
#include <grpcpp/alarm.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

constexpr const char* kOurs = "/profd.";  // how the names of our services begin
constexpr const char* kHealth = "/grpc.health.";

// What an alarm may use after its call has ended.
class Answer {
 public:
  Answer(grpc_call* call, OpenConnections& connections, RefusalLog& refusals,
         std::string connection, std::string client, std::string method)
      : call_(call),
        connections_(connections),
        refusals_(refusals),
        connection_(std::move(connection)),
        client_(std::move(client)),
        method_(std::move(method)) {
    grpc_call_ref(call_);
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() { grpc_call_unref(call_); }

  // Returns the number of the message.
  std::uint64_t BeginMessage() { return Next(); }
  // After this nothing but the call is used.
  void EndMessage() { (void)Next(); }
  void CancelIfStillAt(std::uint64_t message) {
    {
      const std::scoped_lock lock(mutex_);
      if (message_ != message) return;
      refusals_.Refused(client_, method_, "the client does not read the answer");
      connections_.CloseIfFull(connection_);
    }
    // Without the mutex: it may end the call on this thread.
    (void)grpc_call_cancel_with_status(call_, GRPC_STATUS_RESOURCE_EXHAUSTED,
                                       "the answer was not read in time", nullptr);
  }

 private:
  std::uint64_t Next() {
    const std::scoped_lock lock(mutex_);
    return ++message_;
  }

  grpc_call* const call_;
  OpenConnections& connections_;
  RefusalLog& refusals_;
  const std::string connection_;
  const std::string client_;
  const std::string method_;
  std::mutex mutex_;
  std::uint64_t message_ = 0;  // counts their begins and ends
};

}  // namespace

// Lives as long as its call.
class CallWatch::WatchedCall final : public grpc::experimental::Interceptor {
 public:
  WatchedCall(const CallWatch& watch, grpc::experimental::ServerRpcInfo& info)
      : watch_(watch), info_(info) {}
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
  ~WatchedCall() override {
    if (answer_) answer_->EndMessage();
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    // gRPC makes this before it knows the call.
    if (!answer_) Begin(*info_.server_context());
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      alarm_.emplace();
      alarm_->Set(std::chrono::system_clock::now() + watch_.unread_,
                  [answer = answer_, message = answer_->BeginMessage()](bool is_late) {
                    if (is_late) answer->CancelIfStillAt(message);
                  });
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_SEND_MESSAGE)) {
      answer_->EndMessage();
      alarm_.reset();
    }
    methods->Proceed();
  }

 private:
  void Begin(grpc::ServerContextBase& context) {
    const Caller caller = watch_.find_caller_(context);
    const std::string client = ClientName(caller);
    const std::string method = info_.method();
    const std::string connection = context.peer();
    on_connection_.emplace(
        watch_.connections_.Begin(connection, client, LimitsFor(caller).max_connections));
    running_.emplace(watch_.gate_.running.Begin(caller));
    answer_ = std::make_shared<Answer>(context.c_call(), watch_.connections_, watch_.gate_.refusals,
                                       connection, client, method.substr(method.rfind('/') + 1));
    if (!method.starts_with(kOurs)) CheckForeign(context, caller, method);
  }
  // Nothing else can refuse a call of gRPC's own services.
  void CheckForeign(grpc::ServerContextBase& context, const Caller& caller,
                    const std::string& method) {
    // At sockets of this host RefusingService takes these calls. A load balancer needs a
    // certificate for its health checks, and no role.
    const bool refused = caller.refusal && caller.kind == Caller::Kind::kCertificate;
    if (refused && !method.starts_with(kHealth)) {
      const std::string why = ToStatus(*caller.refusal).error_message();
      watch_.gate_.refusals.Refused(Describe(caller), method, why);
      (void)grpc_call_cancel_with_status(context.c_call(), GRPC_STATUS_PERMISSION_DENIED,
                                         why.c_str(), nullptr);
    } else if (!watch_.gate_.running.Check(caller)) {
      context.TryCancel();
    }
  }

  const CallWatch& watch_;
  grpc::experimental::ServerRpcInfo& info_;
  std::optional<OpenConnections::Call> on_connection_;
  std::optional<RunningCalls::Call> running_;
  std::shared_ptr<Answer> answer_;
  std::optional<grpc::Alarm> alarm_;
};

grpc::experimental::Interceptor* CallWatch::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  // gRPC owns what it gets.
  return std::make_unique<WatchedCall>(*this, *info).release();
}

void WatchCalls(grpc::ServerBuilder& builder, const Gate& gate, OpenConnections& connections,
                const ClientTimes& times, CallerService::FindCaller find_caller) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> watches;
  watches.push_back(
      std::make_unique<CallWatch>(gate, connections, std::move(find_caller), times.unread));
  builder.experimental().SetInterceptorCreators(std::move(watches));
}

}  // namespace profd::server
