// DebugDownload: debug files from debuginfod servers, for later.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/base/counter.h"

namespace profd::elf {

// Asks, on a thread of its own, the servers that DEBUGINFOD_URLS names, once for each build id, and
// keeps the paths of what libdebuginfod has put into its cache. Nobody waits for it: whoever asks
// gets what is there, and improvements() counts up when there is more. Any thread.
class DebugDownload {
 public:
  static constexpr std::size_t kMaxRequested = 65'536;

  // DEBUGINFOD_URLS names one; set to nothing, it does not.
  [[nodiscard]] static bool HasServers();

  DebugDownload();
  DebugDownload(const DebugDownload&) = delete;
  DebugDownload& operator=(const DebugDownload&) = delete;
  // Gives up what is under way.
  ~DebugDownload();

  struct Answer {
    std::string path;  // of the debug file; "" when it is not there
    std::string why;   // then: "being requested", or what the servers said
  };
  // `build_id` in hexadecimal.
  [[nodiscard]] Answer Ask(const std::string& build_id);
  [[nodiscard]] std::uint64_t improvements() const { return improvements_.value(); }

 private:
  void Serve(const std::stop_token& stop);

  Counter improvements_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::string> queue_;
  std::map<std::string, Answer> answers_;
  std::jthread server_;
};

}  // namespace profd::elf
