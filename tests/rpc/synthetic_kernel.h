// SyntheticKernel: an event source whose threads run by a written plan; for the live pipeline.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/session/session_control.h"
#include "daemon/wire/event_source.h"
#include "tests/support/raw_events.h"

namespace profd::test {

// Its threads have lived since boot: each computes for 1 ms and then waits for 3 ms, over and over,
// shifted by its tid. Every wait gives an event with one sampling point, every computing one on-CPU
// sample. Time is the system's own, so sessions last as long as requested. A process can be ended.
class SyntheticKernel : public wire::EventSource, public session::SessionControl {
 public:
  static constexpr std::uint64_t kOnCpuNs = 1'000'000;
  static constexpr std::uint64_t kBlockedNs = 3'000'000;
  static constexpr std::uint64_t kCycleNs = kOnCpuNs + kBlockedNs;

  struct Thread {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t uid = 0;  // whose it is, for sessions that see one user's only
  };

  SyntheticKernel(std::vector<Thread> threads, const Clock& clock)
      : threads_(std::move(threads)), clock_(clock) {}

  // --- EventSource
  Result<wire::PollStatus> Poll(std::chrono::milliseconds timeout, const Sink& sink) override;

  // --- SessionControl
  Result<session::StartedSession> StartSession(const session::SessionSpec& spec) override;
  Result<void> StopSession(std::uint32_t session) override;
  Result<session::StartedSession> RollSession(std::uint32_t session) override;
  session::BudgetReading Budget() override { return {}; }
  void SetPeriodFactors(const session::PerKind<session::PeriodFactors>& /*factors*/) override {}
  bool RefuseHooks(bool /*refuse*/) override { return false; }
  void Detach() override {}
  session::SourceStatus Status() const override;

  // --- the test
  // Ends all threads of a process.
  void Kill(std::uint32_t pid);
  // Makes Poll fail from now on.
  void Break();
  [[nodiscard]] std::size_t running() const;

 private:
  struct Session {
    session::SessionSpec spec;
    std::uint64_t reported_until_ns = 0;  // up to here its samples have been written
  };

  [[nodiscard]] bool Matches(const Session& session, const Thread& thread) const;
  [[nodiscard]] profd_clock TotalsAt(const Thread& thread, std::uint64_t time_ns) const;
  [[nodiscard]] profd_event Header(const Thread& thread, std::uint64_t time_ns,
                                   std::uint64_t sessions) const;
  void PutClock(const Thread& thread, std::uint64_t sessions, bool end, std::uint64_t time_ns);
  void PutSamples(Session& session, std::uint32_t slot, std::uint64_t until_ns);
  void PutSession(profd_event_kind kind, const Session& session, std::uint32_t slot,
                  std::uint64_t follows = 0);

  const std::vector<Thread> threads_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Session> sessions_;
  std::map<std::uint32_t, std::uint64_t> ended_;  // tid -> when
  std::deque<EventBytes> ready_;
  std::uint64_t epoch_ = 0;
  std::uint64_t epoch_ns_ = 0;
  std::uint32_t next_slot_ = 0;
  bool broken_ = false;
};

}  // namespace profd::test
