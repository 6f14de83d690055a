// BudgetKeeper: keeps the cost of sampling below what the running sessions may cost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/budget/clock_limit.h"
#include "daemon/budget/governor.h"
#include "daemon/session/session_control.h"

namespace profd::budget {

// Looks four times a second, on a thread of its own, at what sampling has cost: the programs' time
// for samples, and the CPU time of the stages that handle them. Names and unwind tables are made
// once, whatever the rate, and are not part of it; nor is what stages do for processes that come
// and go. Sessions that a client requested and those that stand have a budget each, as thread
// clocks have. While one runs that a client requested, it looks up every kGlance whether that
// is too much already. Owned by the composition root.
class BudgetKeeper {
 public:
  static constexpr std::chrono::milliseconds kGlance{50};

  // Since the stages began.
  struct Work {
    std::uint64_t cpu_ns = 0;  // of the stages, without what names have cost
    session::PerKind<session::SampleCounts> samples;
  };

  // All must outlive this. `clock_limit_cpus`: what thread clocks may cost; 0: no limit.
  BudgetKeeper(session::SessionControl& control, const Clock& clock, double clock_limit_cpus,
               std::function<Work()> work);
  ~BudgetKeeper();
  BudgetKeeper(const BudgetKeeper&) = delete;
  BudgetKeeper& operator=(const BudgetKeeper&) = delete;

  [[nodiscard]] BudgetStatus status() const;
  void Stop();  // idempotent

 private:
  // What one look sees of one kind of sessions.
  struct Measurement {
    std::uint64_t now_ns = 0;
    session::SamplingBudget budget;
    std::uint64_t cpu_ns = 0;   // of the stages, for both kinds
    std::uint64_t samples = 0;  // of both
    session::SampleCounts own;
  };
  struct Kind {
    Governor governor;
    SamplingStatus status;
    Measurement last;
  };

  // What the stages and the programs have spent on samples of one kind between two looks.
  [[nodiscard]] static std::uint64_t SpentBetween(const Measurement& before,
                                                  const Measurement& now);
  void Run(const std::stop_token& stop);
  void Look();
  // Whether periods are to change.
  [[nodiscard]] static bool LookAt(Kind& kind, const Measurement& measured);
  void LookAtClocks(const session::BudgetReading& reading, std::uint64_t now_ns);

  session::SessionControl& control_;
  const Clock& clock_;
  const std::function<Work()> work_;
  ClockLimit clock_limit_;
  std::uint64_t clocks_looked_ns_ = 0;  // when clocks were looked at last
  std::uint64_t clock_ns_ = 0;          // then
  std::uint64_t switches_ = 0;          // then
  session::PerKind<Kind> kinds_;
  bool glances_ = false;  // a session runs that a client requested
  mutable std::mutex mutex_;
  BudgetStatus status_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::budget
