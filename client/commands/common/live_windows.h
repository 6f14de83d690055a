// LiveWindows: profiles of one time range after the other, as time passes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "client/link/grpc_client.h"
#include "client/system/console.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

// Back-to-back sessions: the next one has begun before the last one is ended, so that no time is
// unseen and each profile is whole by itself. Where names take longer than a window, the windows
// get longer. A thread of its own, and one a session.
class LiveWindows {
 public:
  // From any thread, one at a time, in order. An error is the last: kNotFound when a process or
  // thread that was requested is gone.
  using Deliver = std::function<void(Result<v1::Profile>)>;

  // `request` without a duration. All must outlive this.
  LiveWindows(GrpcClient& client, v1::CollectRequest request, std::chrono::nanoseconds window,
              Console& console, Deliver deliver);
  LiveWindows(const LiveWindows&) = delete;
  LiveWindows& operator=(const LiveWindows&) = delete;
  // Gives up what is not delivered yet.
  ~LiveWindows();

 private:
  struct Window;

  void Roll(const std::stop_token& stop);
  [[nodiscard]] std::unique_ptr<Window> Begin();
  void Run(Window& window);
  // Until `what` of the window is true or it is over; false: nothing more is to be done.
  [[nodiscard]] bool WaitUntil(const std::stop_token& stop, const Window& window,
                               bool Window::*what);

  GrpcClient& client_;
  const v1::CollectRequest request_;
  const std::chrono::nanoseconds length_;
  Console& console_;
  const Deliver deliver_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool giving_up_ = false;
  bool over_ = false;   // an error was delivered
  bool begun_ = false;  // a session has
  bool gone_ = false;   // the target has, after that
  std::jthread roller_;
};

}  // namespace profd::client
