// CollectSession: one session of profd, from the request to the profile, that can be ended early.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "client/link/grpc_client.h"
#include "client/system/console.h"
#include "daemon/base/result.h"

namespace profd::client {

// Made before there is a connection, so that the code that watches signals can hold it. Run on the
// command's thread; all else from any thread.
class CollectSession {
 public:
  explicit CollectSession(Console& console) : console_(console) {}
  CollectSession(const CollectSession&) = delete;
  CollectSession& operator=(const CollectSession&) = delete;

  // Once only. `client` is not used after it returns.
  [[nodiscard]] Result<v1::Profile> Run(GrpcClient& client, const v1::CollectRequest& request,
                                        const CollectCallbacks& callbacks);
  // Asks for the end; Run still gives the profile. Before the session has started the wish is kept,
  // after its end it is ignored.
  void Stop();
  [[nodiscard]] bool started();

 private:
  void Started(GrpcClient& client, std::uint32_t session);
  void SendStop();  // with mutex_ held

  Console& console_;
  std::mutex mutex_;
  GrpcClient* client_ = nullptr;
  std::optional<std::uint32_t> session_;
  bool stop_wanted_ = false;
  bool stop_sent_ = false;  // or not to be sent any more
  std::jthread stopper_;    // the call: the thread that requests the end must not wait for it
};

}  // namespace profd::client
