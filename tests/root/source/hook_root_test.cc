#include <algorithm>
#include <array>
#include <thread>

#include "daemon/base/unique_fd.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/observe/observer_parser.h"
#include "daemon/source/procfs/process_texts.h"
#include "tests/root/source/live_test.h"
#include "tests/support/direct_reader.h"

namespace profd::source {
namespace {

using wire::SampleOrigin;

class HookTest : public testing::TestWithParam<profd_hook> {};

// All levels that this kernel has must report the same truth.
// Switch-ins that the hook was not called for.
std::uint64_t Missed(const Heard& heard) {
  std::vector<std::uint64_t> values;
  for (const auto& event : heard.events)
    if (const auto* counters = std::get_if<wire::CountersEvent>(&event))
      values.push_back(counters->values[PROFD_COUNTER_SWITCH_IN_MISSED]);
  return values.empty() ? 0 : values.back() - values.front();
}

TEST_P(HookTest, EachLevelSeesWaitsAndTheirStacks) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  auto live = LiveSource::Start({.force_hook = GetParam()});
  if (!live) {
    ASSERT_EQ(live.error().code, ErrorCode::kUnsupported) << live.error().message;
    GTEST_SKIP() << live.error().message;
  }
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    for (int i = 0; i < 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    strings.Say({1});
    strings.Wait();
  });
  puppet.AwaitState('S');
  session::SessionSpec spec;
  spec.target = session::ParseTarget("pid " + std::to_string(puppet.pid())).value();
  spec.off_cpu_period_ns = 1'000'000;
  const auto session = (*live)->Begin(spec);
  puppet.Go();
  ASSERT_EQ(puppet.Hear(1)[0], 1u);
  puppet.AwaitState('S');
  const Heard heard = (*live)->End(session);
  EXPECT_EQ(heard.start.hook, static_cast<std::uint32_t>(GetParam()));

  const auto start = heard.AtStart(puppet.pid());
  const auto end = heard.AtEnd(puppet.pid());
  ASSERT_TRUE(start && end);
  const profd_clock clock = Growth(start->at_epoch, end->at_epoch);
  EXPECT_NEAR(static_cast<double>(SumOf(clock)) / static_cast<double>(heard.ElapsedNs()), 1.0,
              0.001);
  EXPECT_GE(BlockedOf(clock), 250'000'000u) << "50 sleeps of at least 5 ms";
  // 4 sampling points in each sleep at least, so every one of them has a stack whose end the hook
  // has seen; others are counted, and their time is in the clock all the same.
  const std::uint64_t seen = 50 - std::min<std::uint64_t>(50, Missed(heard));
  const auto stacks = heard.Stacks(puppet.pid(), SampleOrigin::kOffCpu);
  EXPECT_GT(seen, 0u);
  EXPECT_GE(stacks.size(), seen);
  EXPECT_GE(heard.CheckPoints(), stacks.size());
  std::uint64_t blocked_ns = 0;
  for (const auto& stack : stacks) {
    if (stack.begin_ns >= heard.start.epoch_ns) blocked_ns += WokenNs(stack) - stack.begin_ns;
    EXPECT_FALSE(stack.kernel_frames.empty());
  }
  EXPECT_GE(blocked_ns, seen * 5'000'000u);
}

INSTANTIATE_TEST_SUITE_P(HookLevels, HookTest,
                         testing::Values(PROFD_HOOK_SCHED_EXIT, PROFD_HOOK_FINISH_TASK));

// Passes a byte on for ever: a switch for each.
void PassOn(int from, int to) {
  char ball = 0;
  while (::read(from, &ball, 1) == 1 && ::write(to, &ball, 1) == 1) {
  }
}

TEST(HookLevelsTest, SwitchesBeforeClocksAreMadeAreNotLost) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  ASSERT_TRUE(::pipe(there.data()) == 0 && ::pipe(back.data()) == 0);
  const std::array<UniqueFd, 4> ends{UniqueFd(there[0]), UniqueFd(there[1]), UniqueFd(back[0]),
                                     UniqueFd(back[1])};
  // Older than every source, and never at rest.
  const Puppet one([&](const Puppet::Strings&) { PassOn(there[0], back[1]); });
  const Puppet two([&](const Puppet::Strings&) { PassOn(back[0], there[1]); });
  ASSERT_EQ(::write(there[1], "", 1), 1);
  test::DirectReaders snapshots(std::make_unique<IteratorParser>());
  test::DirectReaders observers(std::make_unique<ObserverParser>());
  test::DirectReaders processes(std::make_unique<ProcessTextParser>());
  for (int i = 0; i < 5; ++i) {
    const auto source = BpfSource::Create({snapshots, processes, observers});
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->Status().counters[PROFD_COUNTER_UNKNOWN_THREAD], 0u);
  }
}

// Where hooks are refused, or there are none, a session works in snapshot mode, and says so.
class SnapshotModeTest : public testing::TestWithParam<profd_hook> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    auto live = LiveSource::Start({.force_hook = GetParam()});
    if (!live && live.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << live.error().message;
    ASSERT_TRUE(live) << live.error().message;
    live_ = *std::move(live);
  }
  static session::SessionSpec WholeHost() {
    session::SessionSpec spec;
    spec.target = session::ParseTarget("all").value();
    spec.background = true;
    return spec;
  }
  std::unique_ptr<LiveSource> live_;
};

TEST_P(SnapshotModeTest, ReplacesHooksThatAreRefused) {
  const Puppet puppet([](const Puppet::Strings& strings) { strings.Wait(); });
  puppet.AwaitState('S');
  const bool has_hooks = GetParam() != PROFD_HOOK_NONE;
  const std::uint32_t first = live_->Begin(WholeHost());
  EXPECT_EQ(live_->source().has_switch_hooks(), has_hooks);
  ASSERT_TRUE(live_->source().RefuseHooks(true));
  const std::uint32_t second = live_->Roll(first);
  ASSERT_TRUE(live_->source().RefuseHooks(false));
  const std::uint32_t third = live_->Roll(second);
  const std::vector<Heard> heard{live_->Await(first), live_->Await(second), live_->End(third)};
  const std::vector<std::uint32_t> hooks{static_cast<std::uint32_t>(GetParam()), PROFD_HOOK_NONE,
                                         static_cast<std::uint32_t>(GetParam())};
  for (std::size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i].start.hook, hooks[i]) << i;
    const auto start = heard[i].AtStart(puppet.pid());
    const auto end = heard[i].AtEnd(puppet.pid());
    ASSERT_TRUE(start && end) << i;
    EXPECT_EQ(start->observation.has_value(), hooks[i] == PROFD_HOOK_NONE) << i;
    EXPECT_EQ(BlockedOf(Growth(start->at_epoch, end->at_epoch)), heard[i].ElapsedNs()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(HookLevels, SnapshotModeTest,
                         testing::Values(PROFD_HOOK_SCHED_EXIT, PROFD_HOOK_FINISH_TASK,
                                         PROFD_HOOK_NONE));

TEST(HookLevelsTest, StatusSaysWhichLevelAndWhyNotABetterOne) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  test::DirectReaders snapshots(std::make_unique<IteratorParser>());
  test::DirectReaders observers(std::make_unique<ObserverParser>());
  test::DirectReaders processes(std::make_unique<ProcessTextParser>());
  auto source = BpfSource::Create({snapshots, processes, observers});
  ASSERT_TRUE(source) << source.error().message;
  const session::SourceLevels best = (*source)->Status().levels;
  if (best.hook == "sched_exit_tp") {
    EXPECT_EQ(best.hook_reason, "");
  } else {
    EXPECT_NE(best.hook_reason.find("sched_exit_tp"), std::string::npos) << best.hook_reason;
  }
  auto last = BpfSource::Create({snapshots, processes, observers}, {.force_hook = PROFD_HOOK_NONE});
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ((*last)->Status().levels.hook, "none (snapshots)");
  EXPECT_NE((*last)->Status().levels.hook_reason.find("as configured"), std::string::npos);
}

}  // namespace
}  // namespace profd::source
