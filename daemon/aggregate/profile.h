// Profile: the finished wall-clock profile of one session. Fifth and last hand-off; immutable.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/base/keys.h"
#include "daemon/base/named_count.h"
#include "daemon/process/process_info.h"
#include "daemon/process/sample.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::aggregate {

struct ProfileProcess {
  ProcessKey key;
  std::uint32_t shown_pid = 0;  // in the caller's pid namespace
  std::string comm;
  std::string command_line;  // space separated, bounded
  std::string cgroup;
  std::string container;  // its id, as its cgroup says; "": in none that is known
  std::string unit;       // systemd's, as its cgroup says; "": in none
  process::Owner owner;
  bool exited = false;     // before the session ended
  std::string executable;  // path of its file; "" when not known
  std::string build_id;    // of that file, where a frame lies in it; "" when not known
  process::PythonInterpreterRef interpreter = nullptr;  // null: none is known of
};

// `info` may be null. `exited` is not set.
[[nodiscard]] ProfileProcess DescribeProcess(const ProcessKey& key,
                                             const process::ProcessInfo* info, bool innermost_pids);

struct ProfileThread {
  ThreadKey key;
  std::uint32_t shown_tid = 0;
  std::uint32_t process = 0;  // index into processes
  std::string comm;
  std::uint64_t begin_ns = 0;  // max(session start, fork event), a clock of its own
  std::uint64_t end_ns = 0;    // min(session end, exit event), a clock of its own
  profd_clock clock{};         // exact, inside the session
  bool began = false;          // inside the session
  bool exited = false;         // inside the session
  bool clock_missing = false;  // no reading: samples only, unscaled
  // elapsed = end - begin; closure = (sum of the clock - elapsed) / elapsed
};

// One place in the prefix tree of stacks: the path from `parent` up to the root is the caller
// chain.
struct StackNode {
  std::uint32_t parent = 0;  // index into nodes; node 0 is the root and has no frame
  std::uint32_t frame = 0;   // index into frames
};

// One sample (or pseudo-sample, where a state had time but no stack), in order of time.
struct ProfileSample {
  std::uint64_t time_ns = 0;  // on-CPU: when taken; off-CPU: begin of the part inside the session
  std::uint64_t raw_weight_ns = 0;  // as sampled
  std::uint64_t weight_ns = 0;      // scaled: per thread and state these add up to the exact clock
  std::uint32_t thread = 0;
  std::uint32_t node = 0;  // leaf of the stack; 0: no stack
  process::State state = process::State::kOnCpu;
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint32_t count = 1;        // marks; 0 for time that no sample stands for
  bool exact = false;             // weight is a measured duration (snapshot), not scaled
  std::uint16_t stack_flags = 0;  // PROFD_STACK_*
  process::Gil gil = process::Gil::kNone;
};

// From `time_ns` on, samples stood for this much each (nominally); 0: none were taken.
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
  std::string target;          // text form
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC: the session's own start ...
  std::uint64_t end_ns = 0;    // ... and end
  std::uint64_t start_unix_ns = 0;
  bool on_cpu = true;
  bool off_cpu = true;
  std::uint64_t on_cpu_period_ns = 0;
  std::uint64_t off_cpu_period_ns = 0;
  // What held in place of the two, when the budget did not allow them; empty: nothing did.
  std::vector<PeriodChange> periods;
  std::string host;
  std::string kernel;
  std::string hook;
  std::string profd_version;
  std::vector<ProfileProcess> processes;
  std::vector<ProfileThread> threads;
  std::vector<symbolize::Frame> frames;
  std::vector<StackNode> nodes;
  std::vector<ProfileSample> samples;
  std::vector<NamedCount> lost;
  std::vector<NamedCount> dropped;
  std::vector<NamedCount> counters;  // counters that explain, e.g. cut stacks
  ProfileCost cost;
};
using ProfileRef = std::shared_ptr<const Profile>;

// Sum of all ns of a clock.
[[nodiscard]] std::uint64_t ElapsedOf(const profd_clock& clock);
// (sum of the thread's states - elapsed) / elapsed; 0 for a thread of no length.
[[nodiscard]] double ClosureError(const ProfileThread& thread);
// The worst of all threads, without its sign; 0 where there are none.
[[nodiscard]] double WorstClosureError(const Profile& profile);

}  // namespace profd::aggregate
