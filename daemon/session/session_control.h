// SessionControl: starts and ends sessions on the BPF side, for the rest of the daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/points.h"
#include "daemon/base/result.h"
#include "daemon/session/step_spec.h"

namespace profd::session {

enum class TargetKind { kAll, kPids, kTids, kComm, kCgroup, kLabels };

// So many processes or threads are few: what is watched for a session that does not request it.
inline constexpr std::size_t kFewTargets = 16;

// What a session looks at. Ids are meant in the pid namespace `pidns_inode` (0: profd's own).
struct Target {
  TargetKind kind = TargetKind::kAll;
  std::vector<std::uint32_t> ids{};  // kPids, kTids
  // kLabels: "NAME=VALUE", as store::ParseLabels takes them. When the session begins it becomes
  // kPids, of profd's own pid namespace, and keeps its labels for people.
  std::vector<std::string> labels{};
  std::string name{};           // kComm: comm; kCgroup: path of the cgroup v2 directory
  bool children = false;        // processes forked by members become members
  bool kernel_threads = false;  // kAll, kComm
  std::uint32_t pidns_inode = 0;
  // Only threads that this user owns exclusively: those that the kernel would let the user trace.
  std::optional<std::uint32_t> uid{};
};

// Text form, kept in recordings: "pid 12,13 +children", "comm redis-server", "all +kernel", "label
// service.name=cart". Where processes with labels have been found, it leaves out which.
[[nodiscard]] std::string FormatTarget(const Target& target);
[[nodiscard]] Result<Target> ParseTarget(const std::string& text);

// The nearest period that sampling points have (bpf/shared/points.h). A session gets this one.
[[nodiscard]] inline std::uint64_t NearestOffCpuPeriodNs(std::uint64_t period_ns) {
  return std::uint64_t{1} << profd_nearest_level(period_ns);
}

// How long the first budget of a session lasts.
inline constexpr std::uint64_t kFirstBudgetNs = 60'000'000'000;

enum class OnCpuClock { kCpuClock, kHardwareCycles };

struct SessionSpec {
  Target target{};
  bool on_cpu = true;
  bool off_cpu = true;
  std::uint64_t on_cpu_period_ns = 10'101'010;   // mean; each sample carries its own
  std::uint64_t off_cpu_period_ns = 10'101'010;  // as asked for
  OnCpuClock clock = OnCpuClock::kCpuClock;
  bool inlined = true;  // inlined functions as frames, if there is debug information
  bool lines = true;    // source files and lines, if there is debug information
  // Its end reports every thread in every state. The result is a Dump.
  bool dump = false;
  // Replays: how much of the recording, from its start; 0: all of it. The BPF side ignores it.
  std::uint64_t recorded_ns = 0;
  // The cost of sampling, in CPUs, above which periods are raised. 0: no limit.
  double budget_cpus = 0;
  // The same for its first kFirstBudgetNs, while a client waits for it; 0: as later.
  double first_budget_cpus = 0;
  std::uint64_t first_budget_until_ns = 0;  // the source sets it
  // No client has requested it: on-CPU periods may be raised, too, once off-CPU ones are at their
  // longest.
  bool background = false;
  // In snapshot mode: observers visit its threads, and no hook runs at a context switch for it.
  bool observed = false;
  // Who ends waits is captured, and threads outside the target that do so are followed. Only with
  // hooks and off-CPU samples.
  bool wakers = false;
  // Every switch of its members is recorded, and with wakers every wake-up. Only with hooks and
  // off-CPU samples.
  bool switches = false;
  // Hardware counters count for its members, where the host has some. Only with hooks.
  bool counters = false;
  // Bit i: enum profd_pmu_counter i does; whether a right is missing. The source sets both.
  std::uint32_t open_counters = 0;
  bool counters_refused = false;
  // What is watched to see where steps begin. Of PROFD_MAX_STEP_SOURCES at most.
  std::vector<StepSpec> steps{};
  // No client has requested `steps`: they are watched if the target turns out to be few.
  bool steps_of_few = false;
  // It is in snapshot mode without having requested that. The source sets it.
  bool hooks_refused = false;
};

// How the live source works on this kernel: words for people and for profiles.
struct SourceLevels {
  std::string kernel_release;
  std::string hook;  // "sched_exit_tp", "kprobe finish_task_switch.isra.0", "none (snapshots)"
  std::string hook_reason;   // why not a better one; empty for the first level
  std::string split;         // "run_delay", "wake-up hooks"
  std::string snapshot;      // "sleepable iterator" or why there is none
  std::string observers;     // of snapshot mode: "2 observers", or why there are none
  std::string on_cpu_clock;  // "cpu-clock", "cycles"
  std::string
      counters;  // "cycles, instructions, cache misses", or a sentence that says why there are none
  std::vector<std::string> missing_capabilities;  // without these less is visible; often none
};

// How it does now. Numbers are since load.
struct SourceStatus {
  SourceLevels levels;
  bool hooks_attached = false;  // programs run at context switches now
  std::uint32_t online_cpus = 0;
  std::uint64_t switches = 0;
  std::uint64_t bpf_cost_ns = 0;
  std::uint64_t map_bytes = 0;          // kernel memory of all maps and rings
  std::vector<std::uint64_t> counters;  // by enum profd_counter
  // Processes that report more than their share, and what follows: "process 7 (name): ..."
  std::vector<std::string> beyond_share;
};

// One of each for sessions that a client requested and for those that stand. A thread that both
// look at is sampled as the first need it, and is theirs.
template <typename T>
struct PerKind {
  T requested{};
  T background{};
};

struct SampleCounts {
  std::uint64_t on_cpu = 0;
  std::uint64_t off_cpu = 0;
};

// By how much periods are longer than the finest that a session asks for: 1 or more.
struct PeriodFactors {
  double on_cpu = 1;
  double off_cpu = 1;

  friend bool operator==(const PeriodFactors&, const PeriodFactors&) = default;
};

// What the running sessions of one kind may cost together, in CPUs: 0.01 is one percent of one.
struct SamplingBudget {
  bool limited = false;         // false: no session runs, or one has no limit
  bool on_cpu_adjusts = false;  // on-CPU periods may be raised, too: no client has requested them
  double cpus = 0;
  std::uint64_t spent_ns = 0;  // by the programs for samples, since they were loaded
  std::uint64_t starts = 0;    // of sessions, since then
  // Beyond this factor off-CPU periods stay as they are: they are at their longest. 0: none known.
  double most_off_cpu_factor = 0;
};

// What profd's work for threads may cost, and what it has cost the programs since they were loaded.
struct BudgetReading {
  PerKind<SamplingBudget> sampling;
  std::uint64_t clock_ns = 0;  // for thread clocks
  std::uint64_t switches = 0;
};

struct StartedSession {
  std::uint32_t number = 0;
  std::uint64_t start_ns = 0;  // its exact start, CLOCK_MONOTONIC
};

// All methods may be called from any thread. Each returns when the BPF side has the change. The
// events that follow from it (SESSION_START with the CLOCK of every thread; CLOCK, SNAPSHOT,
// SESSION_END) come through the EventSource, in order.
class SessionControl {
 public:
  virtual ~SessionControl() = default;
  // kNotFound: no thread matches. kExhausted: all sessions are in use.
  [[nodiscard]] virtual Result<StartedSession> StartSession(const SessionSpec& spec) = 0;
  [[nodiscard]] virtual Result<void> StopSession(std::uint32_t session) = 0;
  // Ends a session on the whole host and starts its next_session, of the same spec, at one instant:
  // the clocks of the two add up exactly, and /proc is not read again. SESSION_START of the new one
  // comes first. In error the old one runs on.
  [[nodiscard]] virtual Result<StartedSession> RollSession(std::uint32_t session) = 0;
  [[nodiscard]] virtual SourceStatus Status() const = 0;
  [[nodiscard]] virtual BudgetReading Budget() = 0;
  // Holds for all sessions of a kind until the next call, or until one starts. Weights stay right:
  // samples carry their period.
  virtual void SetPeriodFactors(const PerKind<PeriodFactors>& factors) = 0;
  // While it is on, sessions begin in snapshot mode, also those that did not request it, and so
  // does each next session of RollSession. False: this host has no snapshot mode.
  virtual bool RefuseHooks(bool refuse) = 0;
  // Detaches the BPF programs: they make no new events. The source still delivers the events that
  // it has. All sessions must have ended.
  virtual void Detach() = 0;
};

}  // namespace profd::session
