// ProfileBuilder: collects what belongs to one session and makes its Profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/stack_tree.h"
#include "daemon/aggregate/thread_history.h"
#include "daemon/process/process_info.h"
#include "daemon/symbolize/sample/symbolized_sample.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Names of the pseudo-frames that stand where there is time but no stack.
inline constexpr std::string_view kNotSampled = "[not sampled]";
inline constexpr std::string_view kStillBlocked = "[still blocked: stack not available]";

// Where a profile comes from; the same in every replay of one recording.
struct ProfileOrigin {
  std::string host;
  std::string kernel;
  std::string profd_version;
  std::uint64_t boot_unix_ns = 0;  // CLOCK_REALTIME minus CLOCK_MONOTONIC
  // Show the pids of the innermost pid namespace: the caller lives in a container.
  bool innermost_pids = false;
};

// A sample, or one of its parts: what is kept of it until the session's end is known.
struct SamplePart {
  std::uint64_t begin_ns = 0;  // on-CPU: begin = end = when it was taken
  std::uint64_t end_ns = 0;
  std::uint64_t weight_ns = 0;  // of all of [begin, end)
  std::uint32_t thread = 0;
  StackTree::NodeId node = 0;
  std::uint32_t count = 0;
  std::uint16_t stack_flags = 0;
  process::State state : 2 = process::State::kOnCpu;
  bool snapshot : 1 = false;
  bool reported_before : 1 = false;  // snapshot: by the session that this one goes on from
  process::Gil gil : 3 = process::Gil::kNone;
  bool gil_certain : 1 = false;  // kNone: the process has an interpreter, the thread no state
  process::WaitReason wait = process::WaitReason::kNone;
};
static_assert(sizeof(SamplePart) == 40);

// One session; used by one thread. Takes events in order of time. Memory is bounded by Limits:
// what lies beyond is dropped and counted, while clocks, and so the scaled sums, stay exact.
class ProfileBuilder {
 public:
  struct Limits {
    std::size_t parts = 4'000'000;
    std::size_t nodes = 4'000'000;
    std::size_t threads = 1'000'000;
  };
  using FrameLookup = std::function<const symbolize::Frame&(symbolize::FrameId)>;

  ProfileBuilder(wire::SessionEvent start, ProfileOrigin origin, Limits limits);
  ProfileBuilder(wire::SessionEvent start, ProfileOrigin origin)
      : ProfileBuilder(std::move(start), std::move(origin), Limits{}) {}

  // Nominal period that on-CPU samples are being taken with, the finest of all sessions; 0: not
  // known. (Off-CPU samples carry theirs.)
  void SetEffectiveOnCpuPeriod(std::uint64_t period_ns) { effective_on_cpu_ns_ = period_ns; }
  // The same for both kinds, and kept for the profile where it is coarser than what was requested.
  void SetEffectivePeriods(const wire::PeriodsEvent& event);

  void AddSample(const symbolize::SymbolizedSample& symbolized);
  void AddClock(const wire::ClockEvent& event);
  void AddFork(const wire::ForkEvent& event);
  void AddExec(const wire::ExecEvent& event);
  void AddExit(const wire::ExitEvent& event);
  // What is known of a process by now; the latest one counts. Null changes nothing.
  void AddProcess(const process::ProcessInfoRef& info);
  // Goes on where `before`, whose end this is, stops: threads that are blocked then keep their
  // stacks, which nobody will tell of again as long as they stay blocked.
  void ContinueFrom(const ProfileBuilder& before, const wire::SessionEvent& end);
  void ForEachFrame(const std::function<void(symbolize::FrameId)>& visit) const {
    for (StackTree::NodeId node = 1; node < stacks_.size(); ++node) visit(stacks_.At(node).frame);
  }
  // Takes other ids for frames.
  void RenumberFrames(const StackTree::FrameMap& to) { stacks_.RenumberFrames(to); }
  // The kernel side's counters; the first ones are those of the session's start.
  void SetCounters(const std::vector<std::uint64_t>& values);
  // Samples of this session that a stage in user space gave up.
  void AddDropped(std::string_view name, std::string_view text, std::uint64_t count);

  // Memory, by an estimate.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::uint64_t samples() const { return samples_; }  // every mark is one
  [[nodiscard]] std::uint64_t lost() const;
  [[nodiscard]] std::uint32_t live_threads() const { return live_threads_; }
  // It had threads, and none of them is alive.
  [[nodiscard]] bool target_gone() const { return had_threads_ && live_threads_ == 0; }
  [[nodiscard]] const wire::SessionEvent& start() const { return start_; }

  [[nodiscard]] Profile Build(const wire::SessionEvent& end, const FrameLookup& frames) const;

 private:
  static constexpr std::uint32_t kNoThread = ~std::uint32_t{0};

  std::uint32_t ThreadIndex(const ThreadKey& key, const ProcessKey& process);
  void CountPython(const process::Sample& sample);
  void Place(SamplePart part, const symbolize::SymbolizedSample& symbolized);
  // Runs `change` on the history and keeps the number of live threads right.
  template <typename Change>
  void Update(const wire::EventHeader& header, const Change& change);

  const wire::SessionEvent start_;
  const ProfileOrigin origin_;
  const Limits limits_;
  std::uint64_t effective_on_cpu_ns_ = 0;
  std::uint64_t effective_background_on_cpu_ns_ = 0;  // of PROFD_SAMPLE_BACKGROUND
  std::vector<PeriodChange> periods_;                 // of this session, one after the other
  StackTree stacks_;
  std::vector<SamplePart> parts_;
  std::vector<ThreadHistory> threads_;
  std::unordered_map<ThreadKey, std::uint32_t> thread_index_;
  std::unordered_map<ProcessKey, process::ProcessInfoRef> processes_;
  std::unordered_map<ProcessKey, process::PythonInterpreterRef> interpreters_;
  std::unordered_map<ProcessKey, std::uint64_t> process_exits_;  // time of the last thread's exit
  std::vector<std::uint64_t> first_counters_;
  std::vector<std::uint64_t> last_counters_;
  std::vector<NamedCount> dropped_;
  std::uint64_t parts_dropped_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t threads_dropped_ = 0;
  std::uint64_t python_stacks_ = 0;
  std::uint64_t python_not_merged_ = 0;
  std::uint64_t python_cut_ = 0;
  std::uint32_t live_threads_ = 0;
  bool had_threads_ = false;
};

}  // namespace profd::aggregate
