// Windows of a host that exists on paper only, and what must be the same of them after all
// journeys.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "daemon/aggregate/profile.h"

namespace profd::store {

constexpr std::uint64_t kSecond = 1'000'000'000;
// A minute begins here.
constexpr std::uint64_t kStartUnixNs = 1'700'000'040 * kSecond;

struct HostShape {
  std::uint32_t processes = 4;
  std::uint32_t threads_each = 3;
  std::uint32_t stacks_each = 20;  // that a thread may be seen in
  std::uint32_t samples_each = 8;  // of a thread that is not idle, in a window
  std::uint32_t seed = 1;
  bool fresh_frames = false;  // each window has functions that no other has, as with a JIT
  // Who ends waits is known: of each blocked sample there are one to three steps to a thread of any
  // process, to one that is only a name, or to a timer.
  bool wakers = false;
};

// Window number `index` of 10 s: every third thread is idle, the others run. Clocks are odd to the
// ns and close exactly; weights are scaled to them as profd does it. Equal arguments, equal window.
[[nodiscard]] aggregate::Profile MakeWindow(std::uint64_t index, const HostShape& shape = {});

// The exact side of a profile: by tid and start.
struct ThreadTruth {
  std::string comm;
  std::string process;
  std::uint64_t length_ns = 0;
  profd_clock clock{};
  std::uint64_t weight_ns[3] = {};  // of its samples, by state
  friend bool operator==(const ThreadTruth& a, const ThreadTruth& b);
};
using Truth = std::map<std::pair<std::uint32_t, std::uint64_t>, ThreadTruth>;
[[nodiscard]] Truth TruthOf(const aggregate::Profile& profile);

// And of its stacks: by tid, stack (names from the root on), state and wait reason.
struct StackTruth {
  std::uint64_t weight_ns = 0;
  std::uint64_t count = 0;
  std::uint64_t samples = 0;
};
using Stacks = std::map<std::tuple<std::uint32_t, std::string, process::State, process::WaitReason>,
                        StackTruth>;
[[nodiscard]] Stacks StacksOf(const aggregate::Profile& profile);

// And of its paths: by tid and names with stacks from the waiter outwards. Wake-ups: by tids of the
// waiter and the waker, and reason.
using Paths = std::map<std::pair<std::uint32_t, std::string>, StackTruth>;
[[nodiscard]] Paths PathsOf(const aggregate::Profile& profile);
using WakeUps = std::map<std::tuple<std::uint32_t, std::string, process::WaitReason>,
                         std::pair<std::uint64_t, std::uint64_t>>;
[[nodiscard]] WakeUps WakeUpsOf(const aggregate::Profile& profile);
[[nodiscard]] std::string DifferenceOf(const Paths& a, const Paths& b, std::uint64_t tolerance_ns);

// "" if equal: counts exactly, weights to `tolerance_ns`; else the first difference.
[[nodiscard]] std::string DifferenceOf(const Stacks& a, const Stacks& b,
                                       std::uint64_t tolerance_ns);

}  // namespace profd::store
