// Profile: the finished wall-clock profile of one session. It is the fifth and last hand-off of the
// pipeline, and immutable once it is built. Times are CLOCK_MONOTONIC unless a name says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/aggregate/concurrency/concurrency.h"
#include "daemon/aggregate/counts/hardware_counts.h"
#include "daemon/aggregate/labels/label_sets.h"
#include "daemon/aggregate/steps/step_events.h"
#include "daemon/aggregate/switches/thread_switches.h"
#include "daemon/aggregate/waits/path.h"
#include "daemon/aggregate/weights/lifetime.h"
#include "daemon/base/keys.h"
#include "daemon/base/named_count.h"
#include "daemon/process/process_info.h"
#include "daemon/process/sample.h"
#include "daemon/source/procfs/cpu_limits.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "daemon/wire/cpu_place.h"

namespace profd::aggregate {

// A process, or a group of short-lived ones (thread_groups.h), whose key is a hash of what they
// share.
struct ProfileProcess {
  ProcessKey key;
  std::uint32_t group_size = 0;  // processes of the group; 0: one process
  std::uint32_t shown_pid = 0;   // in the caller's pid namespace
  std::string comm;
  std::string parent;        // name of the process that forked it, at that time; "": not known
  std::string command_line;  // space separated, bounded
  std::string cgroup;
  std::string container;  // id, derived from the cgroup; "": none that profd recognizes
  std::string unit;       // systemd unit, derived from the cgroup; "": none
  process::Owner owner;
  bool exited = false;     // before the session ended
  std::string executable;  // path of its file; "": unknown
  std::string build_id;    // of that file, if the profile has a frame in it; "": unknown
  process::PythonInterpreterRef interpreter = nullptr;  // null: profd knows of none
  std::optional<Concurrency> concurrency;               // of requested sessions with a wait log
  std::optional<source::CpuLimits> cpu_limits;          // at the end of a live session
  // Given by the process itself and by its container's runtime, by name. ProcessLabels
  // (process_labels.h) adds what follows from the rest.
  std::map<std::string, std::string> labels = {};
};

// Copies what is known of a process. `info` may be null. Does not set `exited`.
[[nodiscard]] ProfileProcess DescribeProcess(const ProcessKey& key,
                                             const process::ProcessInfo* info, bool innermost_pids);

// A thread, or a group of short-lived ones (thread_groups.h), whose key is a hash of what they
// share, and its clock their sum. It lasts from the first begin to the last end.
struct ProfileThread {
  ThreadKey key;
  std::uint32_t group_size = 0;        // threads of the group; 0: one thread
  std::uint64_t group_elapsed_ns = 0;  // of a group: sum of the lives of its threads
  std::uint32_t shown_tid = 0;
  std::uint32_t process = 0;  // index into processes
  std::string comm;
  // max(session start, fork event) and min(session end, exit event). They do not come from `clock`,
  // so that the closure error can show a fault of the clock.
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  profd_clock clock{};         // times inside the session, exact but for PROFD_STOLEN_SPREAD
  bool began = false;          // inside the session
  bool exited = false;         // inside the session
  bool clock_missing = false;  // the clock was not read: the samples are not scaled
  std::optional<Migrations> migrations;  // of clock.migrations; nothing: not counted by distance
  std::optional<HardwareCounts> counts;  // exact; nothing: not counted
  std::vector<std::uint16_t> cpus;  // on which samples saw it, ascending; of requested sessions
  // By state: what an edge weighs, as a fraction of weight_ns / count of its sample
  // (sampling_error.h); 0: not known.
  std::array<double, 3> edge_factors{};
};

// One node in the prefix tree of stacks. The path from `parent` to the root is the chain of
// callers.
struct StackNode {
  std::uint32_t parent = 0;  // index into nodes; node 0 is the root and has no frame
  std::uint32_t frame = 0;   // index into frames
};

// One sample. A pseudo-sample holds time of a state for which there is no stack.
struct ProfileSample {
  std::uint64_t time_ns = 0;  // on-CPU: when taken; off-CPU: begin of the part inside the session
  std::uint64_t raw_weight_ns = 0;  // as sampled
  std::uint64_t weight_ns = 0;      // scaled: adds up to the exact clock per thread and state
  std::uint32_t thread = 0;
  std::uint32_t node = 0;  // leaf of the stack; 0: no stack
  process::State state = process::State::kOnCpu;
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint32_t count = 1;        // sampling points; 0: a pseudo-sample
  bool exact = false;             // the weight is a measured duration (snapshot), not scaled
  std::uint16_t stack_flags = 0;  // PROFD_STACK_*
  process::Gil gil = process::Gil::kNone;
  std::uint16_t edges = 0;   // sampling_error.h; 0: none, or not known
  std::uint32_t path = 0;    // kBlocked: end of the path, index into paths; 0: none is known
  std::uint32_t labels = 0;  // 1 + index into label_sets; 0: none
  std::uint16_t cpu = 0;     // kOnCpu, of requested sessions: 1 + its number; 0: not known
  process::Sibling sibling = process::Sibling::kUnknown;  // the same
  std::uint32_t counts = 0;  // kOnCpu: 1 + index into sample_counts; 0: none
};

// The nominal periods that were effective from `time_ns` on; 0: no samples of that kind.
struct PeriodChange {
  std::uint64_t time_ns = 0;
  std::uint64_t on_cpu_period_ns = 0;
  std::uint64_t off_cpu_period_ns = 0;
};

struct ProfileCost {
  std::uint64_t daemon_cpu_ns = 0;  // CPU time of profd during the session
  std::uint64_t bpf_ns = 0;         // estimated time in profd's BPF programs during the session
};

struct Profile {
  std::string target;          // session::FormatTarget
  std::uint64_t start_ns = 0;  // of the session
  std::uint64_t end_ns = 0;    // of the session
  std::uint64_t start_unix_ns = 0;
  bool on_cpu = true;
  bool off_cpu = true;
  std::uint64_t on_cpu_period_ns = 0;
  std::uint64_t off_cpu_period_ns = 0;
  // The effective periods, if they differed from the two above because of the budget; else empty.
  std::vector<PeriodChange> periods;
  std::string host;
  std::string kernel;
  std::string hook;
  std::string profd_version;
  std::uint32_t cpus = 0;            // of the host that were online; 0: not known
  std::vector<CpuPlace> cpu_places;  // of these, ascending; empty: not known
  bool no_hardware_counters = false;
  std::vector<ProfileProcess> processes;
  std::vector<ProfileThread> threads;
  std::vector<symbolize::Frame> frames;
  std::vector<StackNode> nodes;
  std::vector<ProfileSample> samples;  // in order of time
  bool wakers = false;                 // who ends waits was captured; else the next three are empty
  std::vector<PathNode> paths;         // a parent comes before its children
  std::vector<PathThread> path_threads;
  std::vector<WakeUpCount> wake_ups;
  std::vector<Labels> label_sets;             // of requested sessions
  ThreadSwitches switches;                    // of requested sessions that record them
  StepEvents steps;                           // of requested sessions
  HardwareCounters counters_open;             // of sessions that requested them
  std::vector<HardwareCounts> sample_counts;  // they add up to those of their threads
  std::vector<NamedCount> lost;
  std::vector<NamedCount> dropped;
  std::vector<NamedCount> counters;  // counters that explain, e.g. cut stacks
  ProfileCost cost;
};
using ProfileRef = std::shared_ptr<const Profile>;

// A thread or group of the profile as paths name it.
[[nodiscard]] PathThread DescribePathThread(const ProfileThread& thread,
                                            const ProfileProcess& process);
// The time that the profile covers, in ns; 0 if it ends before it starts.
[[nodiscard]] std::uint64_t WindowLength(const Profile& profile);
// The ns of one state of a clock, over all its kinds.
[[nodiscard]] std::uint64_t StateClock(const profd_clock& clock, process::State state);
// The ns that were stolen, exact or by estimate.
[[nodiscard]] std::uint64_t StolenClock(const profd_clock& clock);
// The ns of a clock: those of all states, and what was stolen.
[[nodiscard]] std::uint64_t ClockTotal(const profd_clock& clock);
void AddClock(const profd_clock& part, profd_clock& sum);
// end_ns - begin_ns, or for a group the sum of these; 0 if it ends before it begins.
[[nodiscard]] std::uint64_t Elapsed(const ProfileThread& thread);
// (ClockTotal - Elapsed) / Elapsed. 0 for a thread without a clock or without length.
[[nodiscard]] double ClosureError(const ProfileThread& thread);
// The largest absolute closure error of all threads; 0 if there are none.
[[nodiscard]] double WorstClosureError(const Profile& profile);
// The closure error of the sum of all threads that have a clock; 0 if none has.
[[nodiscard]] double SumClosureError(const Profile& profile);

}  // namespace profd::aggregate
