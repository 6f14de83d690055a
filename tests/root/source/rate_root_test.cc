#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "tests/root/source/live_test.h"
#include "tests/testprogs/spin.h"

namespace profd::source {
namespace {

using RateTest = LiveTest;
using wire::SampleOrigin;

constexpr std::uint64_t kMs = 1'000'000;

// Two functions in sections of their own: the sampled address shows which of them ran.
#define IN_SECTION(name) [[gnu::noinline, gnu::section(name)]]
IN_SECTION("profd_first") void First(std::uint64_t counter) { testprog::SpinUntil(counter); }
IN_SECTION("profd_second") void Second(std::uint64_t counter) { testprog::SpinUntil(counter); }

extern "C" {  // made by the linker
extern const char __start_profd_first, __stop_profd_first;
extern const char __start_profd_second, __stop_profd_second;
}

bool LiesIn(const wire::StackEvent& stack, const char* begin, const char* end) {
  return std::ranges::any_of(stack.user_frames, [&](std::uint64_t address) {
    return address >= reinterpret_cast<std::uint64_t>(begin) &&
           address <= reinterpret_cast<std::uint64_t>(end);
  });
}

// Of the main thread of the process during the session; 0: unknown.
std::uint64_t OnCpuNs(const Heard& heard, const Puppet& puppet) {
  const auto start = heard.AtStart(puppet.pid());
  const auto end = heard.AtEnd(puppet.pid());
  return start && end ? end->at_epoch.on_cpu_ns - start->at_epoch.on_cpu_ns : 0;
}

TEST_F(RateTest, SamplesComeAtTheRequestedRateWithTheirOwnPeriods) {
  const Puppet puppet([](const Puppet::Strings&) { Spin(3'600'000 * kMs); });
  std::uint64_t spun_ns = 0;
  for (const std::uint64_t period_ns : {kMs, 4 * kMs}) {
    session::SessionSpec spec = SpecOf(puppet);
    spec.on_cpu_period_ns = period_ns;
    spec.off_cpu = false;
    const auto session = live_->Begin(spec);
    // The longer it has run, the tighter is the bound.
    ASSERT_TRUE(puppet.AwaitCpu(spun_ns += 1'500 * kMs));
    const Heard heard = live_->End(session);
    const auto on_cpu = static_cast<double>(OnCpuNs(heard, puppet));
    ASSERT_GT(on_cpu, 0);
    const auto stacks = heard.Stacks(puppet.pid(), SampleOrigin::kOnCpu);
    const double expected = on_cpu / static_cast<double>(period_ns);
    std::set<std::uint64_t> periods;
    for (const auto& stack : stacks) periods.insert(stack.period_ns);
    EXPECT_GT(periods.size(), 5u) << "one each 25 to 75 ms";
    // The rate of each interval of 50 ms (on each CPU) has a standard deviation of 0.31; a busy
    // machine moves the thread about. Five standard deviations, and 5 % for lost timer ticks.
    const double deviation = 0.31 / std::sqrt(on_cpu / 50e6);
    EXPECT_NEAR(static_cast<double>(stacks.size()) / expected, 1.0, 5 * deviation + 0.05);
    for (const auto& stack : stacks) {
      EXPECT_GE(stack.period_ns, period_ns / 2);
      EXPECT_LE(stack.period_ns, period_ns * 165 / 100);
      EXPECT_EQ(stack.begin_ns, 0u);
    }
  }
}

TEST_F(RateTest, ARequestedSessionDoesNotChangeTheRateOfOtherThreads) {
  const auto spinner = [](const Puppet::Strings&) { Spin(3'600'000 * kMs); };
  const Puppet requested(spinner);
  const Puppet other(spinner);
  session::SessionSpec background = SpecOf(other);
  background.background = true;
  background.on_cpu_period_ns = background.off_cpu_period_ns = 20 * kMs;
  session::SessionSpec requested_spec = SpecOf(requested);
  requested_spec.on_cpu_period_ns = requested_spec.off_cpu_period_ns = kMs;
  const auto first = live_->Begin(requested_spec);
  const auto second = live_->Begin(background);
  // So long is the session: the bound becomes tighter with it.
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
  const Heard heard = live_->End(second);
  const Heard heard_of_requested = live_->End(first);
  const auto on_cpu = static_cast<double>(OnCpuNs(heard, other));
  ASSERT_GT(on_cpu, 0);
  const auto stacks = heard.Stacks(other.pid(), SampleOrigin::kOnCpu);
  const double expected = on_cpu / static_cast<double>(20 * kMs);
  // A draw each ms with a chance of 1 in 20; 5 % for lost timer ticks.
  EXPECT_NEAR(static_cast<double>(stacks.size()), expected,
              5 * std::sqrt(expected) + 0.05 * expected);
  for (const auto& stack : stacks) {
    EXPECT_EQ(stack.period_ns, 20 * kMs);
    EXPECT_NE(stack.flags & PROFD_SAMPLE_BACKGROUND, 0);
  }
  for (const auto& stack : heard.Stacks(other.pid(), SampleOrigin::kOffCpu))
    EXPECT_EQ(stack.period_ns, 1u << 24) << "the nearest one";
  const auto fine = heard_of_requested.Stacks(requested.pid(), SampleOrigin::kOnCpu);
  EXPECT_FALSE(fine.empty());
  for (const auto& stack : fine) {
    EXPECT_LE(stack.period_ns, kMs * 165 / 100);
    EXPECT_EQ(stack.flags & PROFD_SAMPLE_BACKGROUND, 0);
  }
}

TEST_F(RateTest, AProgramOfTheSamplingPeriodIsSeenInItsTrueShares) {
  constexpr std::int64_t kPeriodNs = 2 * kMs;
  const Puppet puppet([](const Puppet::Strings&) {
    const testprog::Counter counter;
    auto begin = static_cast<std::int64_t>(MonotonicNs());
    while (true) {
      First(counter.At(begin + kPeriodNs * 3 / 10));
      begin += kPeriodNs;
      Second(counter.At(begin));
    }
  });
  session::SessionSpec spec = SpecOf(puppet);
  spec.on_cpu_period_ns = kPeriodNs;
  spec.off_cpu = false;
  const auto session = live_->Begin(spec);
  // So long is the session: the bound becomes tighter with it.
  std::this_thread::sleep_for(std::chrono::seconds(5));
  const Heard heard = live_->End(session);
  double of_first = 0;
  double of_both = 0;
  for (const auto& stack : heard.Stacks(puppet.pid(), SampleOrigin::kOnCpu)) {
    const bool first = LiesIn(stack, &__start_profd_first, &__stop_profd_first);
    const bool second = LiesIn(stack, &__start_profd_second, &__stop_profd_second);
    const auto weight = static_cast<double>(stack.period_ns);
    of_first += first ? weight : 0;
    of_both += first || second ? weight : 0;
  }
  ASSERT_GT(of_both, 0.0);
  // With a fixed period the share is 0 or 1. Samples within an interval of 50 ms are not
  // independent of each other; some 60 of them are on this CPU.
  EXPECT_NEAR(of_first / of_both, 0.3, 5 * 0.46 / std::sqrt(of_both / kPeriodNs / 4));
}

}  // namespace
}  // namespace profd::source
