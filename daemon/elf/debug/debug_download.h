// DebugDownload: debug files from debuginfod servers, for later.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"

namespace profd::elf {

// A thread of its own requests each build id once from the servers that DEBUGINFOD_URLS names, and
// keeps the paths of the files that libdebuginfod puts into its cache. No caller waits: Ask returns
// what is there, and improvements() grows when there is more. Any thread. Owned by
// ObjectClient.
class DebugDownload {
 public:
  static constexpr std::size_t kMaxRequested = 65'536;

  // DEBUGINFOD_URLS names one; set to nothing, it does not.
  [[nodiscard]] static bool HasServers();

  DebugDownload();
  DebugDownload(const DebugDownload&) = delete;
  DebugDownload& operator=(const DebugDownload&) = delete;
  // Cancels the download under way.
  ~DebugDownload();

  struct Answer {
    std::string path;  // of the debug file; "" when it is not there
    std::string why;   // then: "being requested", or the answer of the servers
  };
  // `build_id` in hexadecimal.
  [[nodiscard]] Answer Ask(const std::string& build_id);
  [[nodiscard]] std::uint64_t improvements() const { return improvements_.value(); }
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  void Serve(const std::stop_token& stop);

  static constexpr std::chrono::seconds kSilence{120};  // of a server, or of name resolution

  Counter improvements_;
  Heartbeat beat_{"debug downloads", Heartbeat::NeededFor::kExtras, kSilence};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::string> queue_;
  std::map<std::string, Answer> answers_;
  std::jthread server_;
};

}  // namespace profd::elf
