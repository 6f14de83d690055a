// Observers: the two streams of passes over threads of sessions in snapshot mode.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bpf/shared/control.h"
#include "bpf/shared/observer.h"
#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/session/session_control.h"
#include "daemon/source/observe/observer_parser.h"

namespace profd::source {

// The CPUs of the streams: two of those on which this process may run. kUnsupported: there is one,
// and no observer sees what waits on its own.
using ObserverCpus = std::array<std::uint32_t, PROFD_STREAMS>;
[[nodiscard]] Result<ObserverCpus> ChooseObserverCpus();

// Job: keeps two reader processes at work while a session in snapshot mode runs: one request to
// each is passes for kSpan. A process that does not answer hangs in the memory of a process that it
// visits; the pool kills it, and the visited process is left alone from then on. Threads: one of
// its own for each stream; Run and Stop by any, one at a time. Owner: Sessions. It does not know
// who is a member of sessions: the program decides.
class Observers {
 public:
  // All must outlive this.
  struct Parts {
    std::vector<int> fds;  // BpfObjects::observer_fds
    std::uint64_t point_seed = 0;
    const Clock& clock;
    reader::Readers& readers;  // answer by ObserverParsers
    profd_control& control;    // in it programs say whose memory they read
  };
  // A request that was not answered.
  struct Hang {
    std::uint64_t request = 0;
    std::uint32_t pid = 0;  // the process whose memory the program was reading; 0: none
  };
  // Of one request. A change of the level, and the end of the last session, wait for it.
  static constexpr std::uint64_t kSpanNs = 1'000'000'000;
  static constexpr std::chrono::milliseconds kDeadline{4'000};
  // Targets of requests, for the pool: no other request has these.
  static constexpr std::uint64_t kTargets = std::uint64_t{1} << 63;

  explicit Observers(const Parts& parts);
  Observers(const Observers&) = delete;
  Observers& operator=(const Observers&) = delete;
  ~Observers() { Stop(); }

  [[nodiscard]] bool supported() const { return !why_not_; }
  // At points of this level from the next request on; starts what does not run yet. `requested`: it
  // is as fine as a requested session needs it, and costs that one.
  void Run(std::uint32_t level, bool requested);
  // Does not wait: requests that are under way end by themselves, and their passes find no member.
  void Stop();

  // For people: "2 observers", and why they see less than all, or why there are none. Any thread.
  [[nodiscard]] std::string Describe() const;
  // Those since the last call. Any thread.
  [[nodiscard]] std::vector<Hang> TakeHangs();

  // CPU time of the observers since the start. It comes with the answers, once in kSpanNs. Each
  // part of it is spread over the span that follows, so that it grows evenly. Any thread.
  [[nodiscard]] session::PerKind<std::uint64_t> cpu_ns() const;

 private:
  void Serve(const std::stop_token& stop, std::uint32_t stream);
  void AddAnswer(std::uint32_t stream, std::uint64_t cpu_ns);
  [[nodiscard]] Result<ObserveAnswer> Ask(std::uint32_t stream, std::uint64_t after_ns);

  const Parts parts_;
  ObserverCpus cpus_{};
  std::optional<Error> why_not_;  // nothing: observers can run
  std::atomic<std::uint32_t> level_ = 0;
  std::atomic<bool> requested_ = false;
  std::atomic<std::uint64_t> missed_ = 0;
  std::atomic<std::uint64_t> requests_ = 0;
  // CPU time of one stream.
  struct Cost {
    std::uint64_t before_ns = 0;  // the last answer
    std::uint64_t last_ns = 0;    // of the last answer
    std::uint64_t answered_ns = 0;
  };
  mutable std::mutex mutex_;
  session::PerKind<std::array<Cost, PROFD_STREAMS>> costs_;
  std::condition_variable_any wake_;
  std::vector<Hang> hangs_;
  std::string trouble_;  // why the last request failed; "": it did not
  bool stopped_ = true;
  std::vector<std::jthread> streams_;
};

}  // namespace profd::source
