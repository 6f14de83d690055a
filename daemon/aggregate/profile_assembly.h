// ProfileAssembly: turns what a session has collected into the body of its Profile. It runs once
// the end of the session is known: it finds the lifetime of each thread, clips samples to it,
// scales their weights to the clocks, and puts everything into one canonical order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/profile_builder.h"
#include "daemon/aggregate/sample_edges.h"
#include "daemon/aggregate/stack_tree.h"
#include "daemon/aggregate/thread_history.h"
#include "daemon/aggregate/waits/wait_log.h"
#include "daemon/aggregate/waits/wait_paths.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Refers to the members of a ProfileBuilder. The `thread` and `node` of the parts are indices into
// `threads` and `stacks`.
struct AssemblyInput {
  const std::vector<SamplePart>& parts;
  const LabelSets& labels;
  const ObservedStacks& observed;
  const std::vector<ThreadHistory>& threads;
  const StackTree& stacks;
  const std::unordered_map<ProcessKey, process::ProcessInfoRef>& processes;
  const std::unordered_map<ProcessKey, std::uint64_t>& process_exits;
  const std::unordered_map<ProcessKey, process::PythonInterpreterRef>& interpreters;
  const ProfileBuilder::FrameLookup& frames;
  const std::unordered_set<std::uint32_t>& named;  // pids or tids that the caller has named
  bool innermost_pids = false;
  std::uint64_t point_seed = 0;         // bpf/shared/points.h; 0: threads have had their own
  const WaitLog* waits = nullptr;       // null: who ends waits was not captured
  const StepEvents* steps = nullptr;    // their threads are indices into `threads`; null: none
  const SwitchLog* switches = nullptr;  // null: they were not recorded
  const std::vector<PartCpu>& part_cpus;
  const CountLog* counts = nullptr;  // null: no hardware counters count
};

// Used once, by the thread that builds the profile. The input must outlive it. It fills processes,
// threads, frames, nodes and samples; the caller fills the rest. The order of threads, frames and
// nodes does not depend on their numbers in the input, so equal sessions give equal profiles.
class ProfileAssembly {
 public:
  // `longest`: of all periods that were effective.
  ProfileAssembly(const wire::SessionEvent& start, const wire::SessionEvent& end,
                  const PeriodChange& longest, const AssemblyInput& input)
      : start_{start.epoch, start.epoch_ns},
        end_{end.epoch, end.epoch_ns},
        mode_(start.mode),
        longest_(longest),
        input_(input) {
    if (input.waits == nullptr) return;
    const auto frames = [&input](StackId stack, const auto& visit) {
      for (; stack != 0; stack = input.stacks.At(stack).parent)
        if (!visit(input.frames(input.stacks.At(stack).frame))) return;
    };
    paths_.emplace(*input.waits, frames, input.point_seed);
  }

  [[nodiscard]] Profile Run();

 private:
  // Chooses the threads of the profile, and their order.
  void AddThreads();
  // Returns the index of the history's process in the profile, and adds the process if it is new.
  [[nodiscard]] std::uint32_t AddProcess(const ThreadHistory& history);
  // The indices of all parts, grouped by the thread's index in the profile. Parts of threads that
  // the profile does not have are left out.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> GroupParts() const;
  // Finds the processes with an interpreter, and the threads without a Python thread state.
  void FindPython(const std::vector<std::vector<std::uint32_t>>& groups);
  // The GIL word of a part; null: of time without a part.
  [[nodiscard]] process::Gil GilFor(std::uint32_t thread, const SamplePart* part) const;
  // The input's threads that have been here: not those that only have a stack from before the
  // start.
  [[nodiscard]] std::vector<bool> FindPresent() const;
  // What the part shows. Its time and its weight are not set.
  [[nodiscard]] ProfileSample SampleOf(std::uint32_t thread, const SamplePart& part) const;
  void ClipParts(std::uint32_t thread, std::span<const std::uint32_t> parts);
  // The part with the stack of a thread that stays blocked beyond the session's end; null: there is
  // none.
  [[nodiscard]] const SamplePart* OpenInterval(std::uint32_t thread,
                                               std::span<const std::uint32_t> parts) const;
  void AddOpenInterval(std::uint32_t thread, const SamplePart* part);
  // The off-CPU parts of a session in snapshot mode.
  void AddObserved(std::uint32_t thread, std::span<const std::uint32_t> parts);
  void AddSteps();
  void AddSwitches();
  // How many threads of each process ran at once.
  void CountConcurrency();
  // Whether the thread has begun and ended in the session, and can expect so few samples that it is
  // scaled together with others that are alike.
  [[nodiscard]] bool IsScaledWithOthers(const ProfileThread& thread) const;
  // The caller has named its number; of a process, that of its first thread.
  [[nodiscard]] bool IsNamed(const ProfileThread& thread) const;
  // Makes groups of threads that are too short to be scaled one by one. From here on threads have
  // other indices.
  void GroupThreads();
  // Scales the samples of each thread or group to its clock.
  void ScaleThreads();
  // `samples`: indices of those of one thread.
  void ScaleThread(std::uint32_t thread, std::span<const std::uint32_t> samples);
  void ScaleState(std::uint32_t thread, std::span<const std::uint32_t> samples,
                  process::State state);
  // Shares the hardware counts of a thread, once its samples are scaled; those from `first_pseudo`
  // on are also its.
  void ShareThreadCounts(std::uint32_t thread, std::vector<std::uint32_t> samples,
                         std::uint32_t first_pseudo);
  void AddNotSampled(std::uint32_t thread, process::State state, std::uint64_t ns,
                     bool none_sampled);
  struct Pseudo {
    std::uint32_t thread = 0;
    process::State state = process::State::kOnCpu;
    process::WaitReason wait = process::WaitReason::kNone;
    process::Gil gil = process::Gil::kNone;
    std::uint32_t name = 0;  // index into kPseudoNames
    std::uint64_t begin_ns = 0;
    std::uint64_t ns = 0;
    bool exact = false;
    std::uint32_t path = 0;
  };
  void AddPseudo(const Pseudo& pseudo);
  // Adds the sample of a part that is no instant, or several where its path changes.
  void AddWait(std::uint32_t thread, const SamplePart& part, ProfileSample sample);
  // The same of these runs; none: the sample as it is. `points`: of the whole; null: it has none.
  void AddRuns(const ProfileSample& sample, std::span<const WaitPaths::Run> runs,
               const PointRun* points);
  // What paths say of a thread, which may be outside the session. Those of the history name the
  // row of a thread, also where that is a group: the store keeps no other threads.
  [[nodiscard]] PathThread DescribeOnPath(const WaitLog::Thread& thread) const;
  // Sorts the samples, and numbers nodes and frames in the order in which the samples use them.
  void Renumber();
  // Numbers the labels of samples in their order. Until then they are those of the input.
  void NumberLabels();
  // Finds the build id of each program in the stacks of its process. It does not search by path
  // alone, because two containers may have different programs under one path.
  void FindBuildIds();

  // In snapshot mode.
  [[nodiscard]] bool is_observed() const { return (mode_ & PROFD_SESSION_OBSERVED) != 0; }
  // Until Renumber, nodes of pseudo-frames have numbers beyond those of the tree.
  [[nodiscard]] std::uint32_t PseudoNode(std::uint32_t pseudo) const {
    return static_cast<std::uint32_t>(input_.stacks.size()) + pseudo;
  }

  const Instant start_;
  const Instant end_;
  const std::uint32_t mode_;
  const PeriodChange longest_;
  const AssemblyInput& input_;
  Profile profile_;
  std::vector<SampledWait> waits_;
  std::optional<WaitPaths> paths_;           // if who ends waits was captured
  std::vector<std::uint32_t> row_of_;        // index of a thread before grouping -> after
  std::vector<Lifetime> lives_;              // by thread index in the profile
  std::vector<std::uint32_t> thread_of_;     // index in the input -> index in the profile
  std::vector<bool> python_processes_;       // by process index: it has an interpreter
  std::vector<bool> stateless_;              // by thread index: it has no Python thread state
  std::vector<process::Gil> unsampled_gil_;  // by thread index, once they are grouped
  SampledThreads sampled_;                   // once they are grouped
  // Of the history, once they are grouped: index after grouping.
  std::unordered_map<ThreadKey, std::uint32_t> row_by_key_;
  std::unordered_map<ProcessKey, std::uint32_t> process_of_;
};

}  // namespace profd::aggregate
