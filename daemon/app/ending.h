// Ending: the end of profd, which comes in time whatever hangs.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace profd::app {

// Job: measures the end of profd, and leaves the process when that takes too long: a thread may
// wait for a disk, for a name server or for a client. Each step has a bound of its own (StopTimes),
// and this is for what none of them covers. What is in the database of the history and in the
// recording by then is kept: both survive a crash. Thread: one of its own ("profd-end") waits for
// the signal, so that a main thread that hangs does not count; the main thread calls the methods.
// Owner: main().
class Ending {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Limits {
    // Systemd and clients are promised 5 s. The kernel needs some ms to take down a process.
    std::chrono::milliseconds stop{4'700};
    // After the last step: only memory and threads are left, which are of no use any more.
    std::chrono::milliseconds free{500};
  };

  // SIGTERM and SIGINT must be blocked in all threads.
  explicit Ending(const Limits& limits);
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending();

  // The end begins, if no signal has begun it already.
  void Begin();
  // When it began: times of the steps count from there.
  [[nodiscard]] Time began() const;
  // What is done from now on; it must outlive this.
  void Step(const char* what);
  // All steps are done, and `code` is the exit code whatever comes. "stopped in 0.84 s: sessions
  // 0.31 s, history 0.52 s".
  [[nodiscard]] std::string Finish(int code);

 private:
  void Watch(const std::stop_token& stop);
  [[nodiscard]] std::optional<Time> Deadline() const;
  void BeginAt(Time now);
  void Wake() const;
  [[noreturn]] void Leave() const;

  const Limits limits_;
  const UniqueFd signals_;
  const UniqueFd wake_;
  mutable std::mutex mutex_;
  std::optional<Time> began_;
  std::vector<std::pair<const char*, Time>> steps_;  // with their begin
  std::optional<int> code_;                          // of a stop that is done
  std::optional<Time> finished_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::app
