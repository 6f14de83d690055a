// ProfileAssembly: from what a session collected to the body of its Profile, once its end is
// known: lifetimes, clipping, scaling, and one canonical order of everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/profile_builder.h"
#include "daemon/aggregate/stack_tree.h"
#include "daemon/aggregate/thread_history.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

struct AssemblyInput {
  const std::vector<SamplePart>& parts;
  const std::vector<ThreadHistory>& threads;
  const StackTree& stacks;
  const std::unordered_map<ProcessKey, process::ProcessInfoRef>& processes;
  const std::unordered_map<ProcessKey, std::uint64_t>& process_exits;
  const std::unordered_map<ProcessKey, process::PythonInterpreterRef>& interpreters;
  const ProfileBuilder::FrameLookup& frames;
  bool innermost_pids = false;
};

// One use. Fills processes, threads, frames, nodes and samples; the rest is the caller's. The
// order of threads, frames and nodes does not depend on the numbers they have in the input.
class ProfileAssembly {
 public:
  ProfileAssembly(const wire::SessionEvent& start, const wire::SessionEvent& end,
                  const AssemblyInput& input)
      : start_{start.epoch, start.epoch_ns},
        end_{end.epoch, end.epoch_ns},
        mode_(start.mode),
        input_(input) {}

  [[nodiscard]] Profile Run();

 private:
  void PlaceThreads();
  [[nodiscard]] std::uint32_t PlaceProcess(const ThreadHistory& history);
  // Indices of all parts, grouped by final thread; those of threads that are left out are not in.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> GroupParts() const;
  // What the parts of each thread say of it, taken together.
  void FindPython(const std::vector<std::vector<std::uint32_t>>& groups);
  // Of a part that says nothing, or of time that no part stands for (null).
  [[nodiscard]] process::Gil GilOf(std::uint32_t thread, const SamplePart* part) const;
  void ClipParts(std::uint32_t thread, std::span<const std::uint32_t> parts);
  // The part that shows what the thread does while it is blocked beyond the session's end.
  [[nodiscard]] const SamplePart* OpenInterval(std::uint32_t thread,
                                               std::span<const std::uint32_t> parts) const;
  void AddOpenInterval(std::uint32_t thread, const SamplePart* part);
  // Scales the samples of one thread: [first, end of samples).
  void ScaleThread(std::uint32_t thread, std::size_t first);
  void ScaleState(std::uint32_t thread, std::size_t first, process::State state);
  void AddNotSampled(std::uint32_t thread, process::State state, std::uint64_t ns,
                     bool none_sampled);
  void AddPseudo(std::uint32_t thread, process::State state, process::WaitReason wait,
                 std::uint32_t pseudo, std::uint64_t begin_ns, std::uint64_t ns, bool exact);
  void Renumber();
  // Of each process whose own program lies on one of its stacks. (Two containers may have different
  // programs under one path.)
  void FindBuildIds();

  // Nodes of pseudo-frames have numbers beyond those of the tree until Renumber.
  [[nodiscard]] std::uint32_t PseudoNode(std::uint32_t pseudo) const {
    return static_cast<std::uint32_t>(input_.stacks.size()) + pseudo;
  }

  const Instant start_;
  const Instant end_;
  const std::uint32_t mode_;
  const AssemblyInput& input_;
  Profile profile_;
  std::vector<Lifetime> lives_;           // by final thread index
  std::vector<std::uint32_t> thread_of_;  // final index by index in the input
  std::vector<bool> python_processes_;    // by final process index: an interpreter is known of
  std::vector<bool> stateless_;           // by final thread index: it has no thread state
  std::unordered_map<ProcessKey, std::uint32_t> process_of_;
};

}  // namespace profd::aggregate
