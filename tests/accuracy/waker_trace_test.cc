// On whom threads wait, against a full trace of all switches and wake-ups, walked exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/accuracy/trace/exact_paths.h"
#include "tests/accuracy/whom_suite.h"

namespace profd::accuracy {
namespace {

struct Traced {
  const char* program;
  const char* milliseconds;
};

class WakerTrace : public WhomTest, public ::testing::WithParamInterface<Traced> {
 protected:
  // All paths of one thread.
  void Compare(const v1::Thread& thread, const ExactPaths& exact) const {
    const WhomView view(run_->profile(), thread.tid(), "");
    const auto name_of = [this](std::uint32_t tid) {
      const auto& all = run_->profile().threads();
      const auto found = std::ranges::find(all, tid, &v1::Thread::tid);
      return found == all.end() ? "other" : found->comm();
    };
    const ExactWaits waits = exact.Of(thread.tid(), {thread.begin_ns(), thread.end_ns()}, name_of);
    const WhomView::Part whole = view.Whole();
    // Of a wait no more paths are looked at: daemon/aggregate/waits/wait_paths.h.
    constexpr double kPathsOfWait = 64;
    const double waits_seen = static_cast<double>(thread.clock().blocked_interruptible_count() +
                                                  thread.clock().blocked_uninterruptible_count() +
                                                  thread.clock().blocked_iowait_count());
    const double samples = std::min(whole.weights.EffectiveSamples(), kPathsOfWait * waits_seen);
    const double unsure = waits.unsure_ns / waits.blocked_ns;
    auto parts = view.ByText();
    std::size_t steps = 1;
    for (const auto& [path, ns] : waits.ns_by_path)
      steps = std::max(steps, std::size_t(std::ranges::count(path, ' ')) + 1);
    // A wake-up that neither of the two has seen is missing in both, but not at the same step.
    const double unseen = static_cast<double>(steps) * run_->most_unseen();
    double others = 0;
    for (const auto& [path, part] : parts)
      if (!waits.ns_by_path.contains(path)) others += part.ns / whole.ns;
    for (const auto& [path, ns] : waits.ns_by_path) {
      const double share = ns / waits.blocked_ns;
      // Chance explains so little of what is rarer that there is nothing to compare.
      if (share < kLeastShare) {
        others += parts[path].ns / whole.ns;
        continue;
      }
      ExpectShareWithin(parts[path].ns / whole.ns, share * (1 - unseen) - unsure,
                        std::min(1.0, share + unsure + unseen), samples,
                        thread.comm() + ": " + path);
    }
    double rare = unsure + unseen;
    for (const auto& [path, ns] : waits.ns_by_path)
      if (ns / waits.blocked_ns < kLeastShare) rare += ns / waits.blocked_ns;
    ExpectShareWithin(others, 0, std::min(1.0, rare), samples, thread.comm() + ": rare paths");
  }

  static constexpr double kLeastShare = 0.02;
};

TEST_P(WakerTrace, HasTheSameShares) {
  auto trace = SwitchTrace::Start();
  if (!trace) GTEST_SKIP() << "the kernel's tracer is not to be had: " << trace.error().message;
  ASSERT_NO_FATAL_FAILURE(CollectWhom({GetParam().program, "--ms", GetParam().milliseconds}, 997));
  const auto events = trace->Stop();
  ASSERT_TRUE(events) << events.error().message;
  const ExactPaths exact(*events);
  int compared = 0;
  for (const v1::Thread& thread : run_->profile().threads()) {
    // A thread with few samples off the CPU says nothing.
    if (WhomView(run_->profile(), thread.tid(), "").Whole().weights.EffectiveSamples() < 500)
      continue;
    ++compared;
    Compare(thread, exact);
  }
  EXPECT_GE(compared, 2);
}

INSTANTIATE_TEST_SUITE_P(Programs, WakerTrace,
                         ::testing::Values(Traced{"chain", "4000"}, Traced{"fair-queue", "4000"},
                                           Traced{"events", "4000"}),
                         [](const auto& traced) {
                           std::string name = traced.param.program;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace profd::accuracy
