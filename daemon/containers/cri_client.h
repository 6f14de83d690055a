// CriClient: one container runtime, over its CRI socket.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "daemon/base/result.h"
#include "daemon/containers/container_labels.h"

namespace profd::containers {

// Of all containers and pods' sandboxes, by id.
struct Listing {
  std::string runtime;  // "containerd v1.6.20"
  std::unordered_map<std::string, ContainerFacts> containers;
  bool cut = false;  // there are more than kMaxContainers
};

// Job: calls of the runtime. It speaks with the socket alone: no API server, no token, no network.
// Every call has a time-out, and answers are bounded. Used by one thread; Cancel may come from any.
class CriClient {
 public:
  static constexpr std::chrono::milliseconds kTimeout{2'000};  // of each call
  static constexpr std::size_t kMaxContainers = 16'384;
  static constexpr int kMaxAnswerBytes = 16 << 20;

  explicit CriClient(std::string socket);
  CriClient(const CriClient&) = delete;
  CriClient& operator=(const CriClient&) = delete;
  ~CriClient();

  [[nodiscard]] const std::string& socket() const { return socket_; }
  // kNotFound: there is no such socket. kPermissionDenied: profd may not use it. Otherwise what the
  // runtime, or its silence, says.
  [[nodiscard]] Result<Listing> List();
  // Ends the call that is under way, and all later ones.
  void Cancel();

 private:
  struct Connection;
  template <typename Call>
  [[nodiscard]] Result<void> Ask(const char* what, const Call& call);
  void NameImages(Listing& listing);

  const std::string socket_;
  std::unique_ptr<Connection> connection_;
  std::mutex mutex_;
  bool cancelled_ = false;   // guarded by mutex_
  void* context_ = nullptr;  // of the call that is under way; guarded by mutex_
};

}  // namespace profd::containers
