// ProfileMaker: profiles made by hand, for what reads finished ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::testing {

struct SampleSpec {
  std::uint64_t weight_ns = 10'000'000;
  v1::State state = v1::STATE_ON_CPU;
  v1::WaitReason wait = v1::WAIT_NONE;
  std::uint32_t count = 1;
  v1::Gil gil = v1::GIL_NONE;
  std::uint32_t rule = 0;  // as Samples.rule
  std::uint32_t path = 0;  // as Samples.path
};

// Time of a state, that rests on `count` samples.
[[nodiscard]] constexpr SampleSpec Running(std::uint64_t ms, std::uint32_t count = 1) {
  return {.weight_ns = ms * 1'000'000, .count = count};
}
[[nodiscard]] constexpr SampleSpec Runnable(std::uint64_t ms, std::uint32_t count = 1) {
  return {.weight_ns = ms * 1'000'000, .state = v1::STATE_RUNNABLE, .count = count};
}
[[nodiscard]] constexpr SampleSpec Blocked(v1::WaitReason wait, std::uint64_t ms,
                                           std::uint32_t count = 1, std::uint32_t path = 0) {
  return {.weight_ns = ms * 1'000'000,
          .state = v1::STATE_BLOCKED,
          .wait = wait,
          .count = count,
          .path = path};
}

// A step of a path.
struct StepSpec {
  v1::PathKind kind = v1::PATH_RUNS;
  std::uint32_t thread = 0;  // as PathNode.thread
  std::vector<std::string> stack = {};
  v1::WaitReason wait = v1::WAIT_NONE;
  v1::PathHow how = v1::HOW_WOKE;
  bool estimated = false;
};

// Frames from a short text: "main", "read_[k]" is a kernel frame, "f_[i]" an inlined one, "g_[j]"
// JIT, "[x]" a pseudo frame, "Tensor.numpy (tensor.py:31)" Python; "lib.so+0x10" has no name.
[[nodiscard]] v1::Frame FrameFromText(std::string_view text);

// Builds a profile sample by sample; time goes on by each thread's own weights. Equal frames and
// stacks are shared, as profd shares them. Threads and processes are added once.
class ProfileMaker {
 public:
  // A wall profile of one process, "demo" with pid 4242, host "testhost".
  ProfileMaker();

  std::uint32_t AddProcess(std::uint32_t pid, const std::string& comm,
                           const std::string& command_line = "");
  std::uint32_t AddThread(std::uint32_t tid, const std::string& comm, std::uint32_t process = 0);
  // `stack` is root first.
  void Add(std::uint32_t thread, const std::vector<std::string>& stack,
           const SampleSpec& spec = {});
  void AddFrames(std::uint32_t thread, const std::vector<v1::Frame>& stack,
                 const SampleSpec& spec = {});

  // The number for SampleSpec.rule. "rules.toml:1" is the place of the first one.
  std::uint32_t AddRule(v1::FrameClass frame_class, const std::string& function);

  // The number for StepSpec.thread.
  std::uint32_t AddPathThread(std::uint32_t tid, const std::string& comm, std::uint32_t pid = 4242,
                              const std::string& process_comm = "demo");
  // From the waiter outwards. The number for SampleSpec.path. Equal beginnings are shared.
  std::uint32_t AddPath(const std::vector<StepSpec>& steps);
  // `waker` is a StepSpec.thread.
  void AddWakeUps(std::uint32_t thread, std::uint32_t waker, v1::WaitReason wait,
                  std::uint64_t waits, std::uint64_t spurious = 0);

  // For what has no method: target, period, lost.
  v1::Profile& profile() { return profile_; }
  // Threads end with their last sample, the session with the last thread.
  [[nodiscard]] v1::Profile Make();

 private:
  std::uint32_t Node(std::uint32_t parent, const v1::Frame& frame);
  std::uint32_t Stack(const std::vector<v1::Frame>& stack);
  // The innermost frame of the stack that fits the rule; the leaf if none does.
  [[nodiscard]] std::uint32_t NodeOfRule(std::uint32_t rule, std::uint32_t leaf) const;

  v1::Profile profile_;
  std::map<std::string, std::uint32_t> frames_;  // by serialized frame
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
  std::map<std::string, std::uint32_t> paths_;  // by serialized node
  std::vector<std::uint64_t> thread_ns_;
};

}  // namespace profd::testing
