// CpuController: what profd changes so that its work for threads stays in the CPU budget.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/budget/cpu/clock_controller.h"
#include "daemon/budget/cpu/period_controller.h"
#include "daemon/session/session_control.h"

namespace profd::budget {

// What sampling for sessions of one kind may cost, what it costs, and the factors that follow.
struct SamplingStatus {
  session::SamplingBudget budget;
  session::PeriodFactors factors;
  double spent_cpus = 0;  // recently
  // How often each factor was changed.
  std::uint64_t on_cpu_changes = 0;
  std::uint64_t off_cpu_changes = 0;
};

struct CpuStatus {
  session::PerKind<SamplingStatus> sampling;
  ClockStatus clock;
};

// Stages need less than this for any sample (20 to 60 us were measured). What they spend beyond it
// goes to new processes and other work that longer periods do not reduce.
inline constexpr std::uint64_t kMostPerSampleNs = 250'000;
// Events that cost the stages as much as one with a stack (5 to 12 us each were measured).
inline constexpr std::uint64_t kEventsPerStack = 4;
// What the stages have handled in some time.
struct StageWork {
  std::uint64_t samples = 0;
  std::uint64_t snapshots = 0;  // stacks that follow no period
  std::uint64_t others = 0;     // events without a stack
};
// The part of `stages_ns` that the stages have spent on the samples of that work.
[[nodiscard]] std::uint64_t SpentOnSamples(std::uint64_t stages_ns, const StageWork& work);

// How long a measurement takes. It ends early once it has cost more than all of it may.
inline constexpr std::uint64_t kMeasurementNs = 250'000'000;
[[nodiscard]] bool IsComplete(std::uint64_t elapsed_ns, std::uint64_t spent_ns,
                              const session::SamplingBudget& budget);
// Mean cost of a measurement, in CPUs. If it ended early: what it would be with no further cost.
[[nodiscard]] double MeanCpus(std::uint64_t elapsed_ns, std::uint64_t spent_ns);

// Job: turns readings of counters into measurements of what sampling and thread clocks cost, and
// says what changes. Requested sessions, background sessions and thread clocks have a budget each.
// It reads no clock and no counter by itself.
// Thread: one. Owner: CpuThread.
class CpuController {
 public:
  // All counters at one time. They count up; a counter that goes back (the programs were loaded
  // again, or two counters were not read at one instant) counts as no cost.
  struct Reading {
    std::uint64_t now_ns = 0;
    session::BudgetReading kernel;
    std::uint64_t stages_ns = 0;  // CPU time of the stages, without the search for names
    session::PerKind<session::SampleCounts> samples;
    std::uint64_t snapshots = 0;
    std::uint64_t others = 0;
    // Context switches of all CPUs since boot. Clocks are measured by readings that have them.
    std::optional<std::uint64_t> host_switches;
  };
  // What the BPF side must change; nothing: it stays as it is.
  struct Changes {
    std::optional<session::PerKind<session::PeriodFactors>> factors;
    std::optional<bool> hooks_refused;  // to sessions that begin
  };

  // `clock_limit_cpus`: what thread clocks may cost; 0: no limit.
  explicit CpuController(double clock_limit_cpus) : clock_controller_(clock_limit_cpus) {}

  [[nodiscard]] Changes Update(const Reading& now);
  // The BPF side has no snapshot mode.
  void AllowHooks();
  // A requested session runs: readings must be frequent, to end an expensive measurement early.
  [[nodiscard]] bool needs_frequent_readings() const { return frequent_; }
  [[nodiscard]] const CpuStatus& status() const { return status_; }

 private:
  // The counters for one kind of sessions at one time.
  struct Measurement {
    std::uint64_t now_ns = 0;
    session::SamplingBudget budget;
    std::uint64_t stages_ns = 0;  // for both kinds
    StageWork work;               // of both kinds
    session::SampleCounts own;
  };
  struct Kind {
    PeriodController controller;
    Measurement last;
  };

  // What the stages and the programs have spent on samples of one kind.
  [[nodiscard]] static std::uint64_t SpentBetween(const Measurement& before,
                                                  const Measurement& now);
  // True: the factors have changed.
  [[nodiscard]] static bool Measure(Kind& kind, const Measurement& now, SamplingStatus& status);
  [[nodiscard]] std::optional<bool> MeasureClocks(const Reading& now);

  ClockController clock_controller_;
  std::uint64_t clocks_measured_ns_ = 0;  // time of the last measurement of clocks
  std::uint64_t clock_ns_ = 0;            // at that time
  std::uint64_t switches_ = 0;            // at that time
  std::uint64_t host_switches_ = 0;       // at that time
  session::PerKind<Kind> kinds_;
  bool frequent_ = false;
  CpuStatus status_;
};

}  // namespace profd::budget
