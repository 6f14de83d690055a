// ProfileBuilder: collects the samples and events of one session, and builds its Profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/counts/count_log.h"
#include "daemon/aggregate/labels/label_sets.h"
#include "daemon/aggregate/observed_stacks.h"
#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/sample_part.h"
#include "daemon/aggregate/stack_tree.h"
#include "daemon/aggregate/steps/step_log.h"
#include "daemon/aggregate/switches/switch_log.h"
#include "daemon/aggregate/thread_history.h"
#include "daemon/aggregate/waits/wait_log.h"
#include "daemon/process/container_names.h"
#include "daemon/process/process_info.h"
#include "daemon/symbolize/sample/symbolized_sample.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Names of the pseudo-frames for time without a stack.
inline constexpr std::string_view kNotSampled = "[not sampled]";
inline constexpr std::string_view kStillBlocked = "[still blocked: stack not available]";

// Where a profile comes from. A replay takes it from the recording.
struct ProfileOrigin {
  std::string host;
  std::string kernel;
  std::string profd_version;
  std::uint64_t boot_unix_ns = 0;  // CLOCK_REALTIME minus CLOCK_MONOTONIC
  // Show the pids of the innermost pid namespace, because the caller lives in a container.
  bool innermost_pids = false;
  std::uint32_t cpus = 0;  // that are online; 0: not known, as in a replay
  bool no_hardware_counters = false;
  std::vector<CpuPlace> cpu_places = {};  // that are online; empty: not known
  // What runtimes say of containers. Outlives the builder; null: nothing, as in a replay.
  process::ContainerNames* containers = nullptr;
};

// Belongs to one session and lives on the symbolizer thread. Events must come in order of time.
// Memory is bounded by Limits: the builder drops and counts what exceeds them. Clocks, and so the
// scaled sums, stay exact even then.
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

  // The nominal period with which on-CPU samples are taken now, which is the finest of all
  // sessions; 0: unknown. Off-CPU samples carry their period themselves.
  void SetEffectiveOnCpuPeriod(std::uint64_t period_ns) { effective_on_cpu_ns_ = period_ns; }
  // The same for both kinds. The profile lists the periods if they are coarser than requested.
  void SetEffectivePeriods(const wire::PeriodsEvent& event);

  void AddSample(const symbolize::SymbolizedSample& symbolized);
  void AddClock(const wire::ClockEvent& event);
  void AddFork(const wire::ForkEvent& event);
  void AddExec(const wire::ExecEvent& event);
  void AddExit(const wire::ExitEvent& event);
  void AddStep(const wire::StepEvent& event);
  void AddStepSource(const wire::StepSourceEvent& event) { steps_.AddSource(event); }
  void AddSwitch(const wire::SwitchEvent& event);
  void AddWake(const wire::WakeEvent& event);
  void AddPmu(const wire::PmuEvent& event);
  // Of the same share the larger count holds. Bounded: at most kMaxBeyondShare are kept.
  void AddBeyondShare(const wire::BeyondShareEvent& event);
  static constexpr std::size_t kMaxBeyondShare = 1'000;
  // Replaces the description of a process. Null changes nothing.
  void AddProcess(const process::ProcessInfoRef& info);
  // The same of a process that the session has.
  void UpdateProcess(const process::ProcessInfoRef& info);
  // Takes over the stacks of threads that are blocked at `end`, the end of the session before, or
  // are unchanged then (snapshot mode). The BPF side does not report such a stack again while the
  // thread stays so.
  void ContinueFrom(const ProfileBuilder& before, const wire::SessionEvent& end);
  void ForEachFrame(const std::function<void(symbolize::FrameId)>& visit) const {
    for (StackTree::NodeId node = 1; node < stacks_.size(); ++node) visit(stacks_.At(node).frame);
  }
  // Changes the ids of frames, after the frame table was compacted.
  void RenumberFrames(const StackTree::FrameMap& to) { stacks_.RenumberFrames(to); }
  // The counters of the BPF side, by enum profd_counter. The first call has those of the start.
  void SetCounters(const std::vector<std::uint64_t>& values);
  // Counts samples of this session that a stage in user space dropped.
  void AddDropped(std::string_view name, std::string_view text, std::uint64_t count);

  // An estimate of the memory that the builder holds.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::uint64_t samples() const {  // counts sampling points
    return samples_ + observed_.points();
  }
  [[nodiscard]] std::uint64_t lost() const;
  [[nodiscard]] std::uint32_t live_threads() const { return live_threads_; }
  // The session has had threads, and none of them is alive.
  [[nodiscard]] bool target_gone() const { return had_threads_ && live_threads_ == 0; }
  [[nodiscard]] const wire::SessionEvent& start() const { return start_; }

  // Builds the profile of the session from its start to `end`. The builder stays as it is.
  [[nodiscard]] Profile Build(const wire::SessionEvent& end, const FrameLookup& frames) const;

 private:
  static constexpr std::uint32_t kNoThread = ~std::uint32_t{0};

  // The index of the thread, which is added if it is new; kNoThread: there are too many.
  std::uint32_t ThreadIndex(const ThreadKey& key, const ProcessKey& process);
  void CountPython(const process::Sample& sample);
  void AddOffCpu(const symbolize::SymbolizedSample& symbolized, SamplePart part, SubsampleKey key);
  void AddObserved(const symbolize::SymbolizedSample& symbolized, SamplePart part);
  // Gives the log of waits what it needs of a sample. False: that is all the sample is for.
  bool LogWaits(const symbolize::SymbolizedSample& symbolized);
  // Stores the part, with the sample's thread and stack. False: a limit is reached.
  bool Store(SamplePart part, const symbolize::SymbolizedSample& symbolized);
  // Stores a part of another builder, with the thread's stack and as a part of `thread`.
  void StoreFrom(const ProfileBuilder& before, SamplePart part, std::uint32_t thread);
  void TakeOpenWaits(const ProfileBuilder& before, const wire::SessionEvent& end);
  void TakeObserved(const ProfileBuilder& before);
  // Runs `change` on the thread's history, and counts live threads. Returns the thread's index.
  template <typename Change>
  std::uint32_t Update(const wire::EventHeader& header, const Change& change);
  // What the profile says of the session as a whole.
  void DescribeSession(const wire::SessionEvent& end, Profile& profile) const;
  // Which Python frames and labels the profile lacks, and why.
  void AddAllRefusals(Profile& profile) const;
  // In snapshot mode.
  [[nodiscard]] bool is_observed() const { return (start_.mode & PROFD_SESSION_OBSERVED) != 0; }

  const wire::SessionEvent start_;
  const ProfileOrigin origin_;
  const Limits limits_;
  std::uint64_t effective_on_cpu_ns_ = 0;
  std::uint64_t effective_background_on_cpu_ns_ = 0;  // of PROFD_SAMPLE_BACKGROUND
  std::uint64_t point_seed_ = 0;                      // 0: sampling points were the threads' own
  std::vector<PeriodChange> periods_;                 // of this session, in order of time
  StackTree stacks_;
  std::vector<SamplePart> parts_;
  LabelSets labels_;
  ObservedStacks observed_;
  std::optional<WaitLog> waits_;  // with PROFD_SESSION_WAKERS
  StepLog steps_;
  std::optional<SwitchLog> switches_;  // with PROFD_SESSION_SWITCHES
  std::optional<CountLog> counts_;     // with hardware counters that count
  std::vector<PartCpu> part_cpus_;     // by part; of requested sessions
  std::vector<ThreadHistory> threads_;
  std::unordered_map<ThreadKey, std::uint32_t> thread_index_;
  std::unordered_map<ProcessKey, process::ProcessInfoRef> processes_;
  std::unordered_map<ProcessKey, process::PythonInterpreterRef> interpreters_;
  std::unordered_map<ProcessKey, std::uint64_t> process_exits_;  // time of the last thread's exit
  std::vector<std::uint64_t> first_counters_;
  std::vector<std::uint64_t> last_counters_;
  std::vector<NamedCount> dropped_;
  std::vector<wire::BeyondShareEvent> beyond_share_;
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
