// kernel accounting in place of clocks of profd's own.
#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using KernelAccountingTest = LiveTest;

constexpr std::uint64_t kMs = 1'000'000;
constexpr int kTurns = 50;
// Kernel accounting adds what runs at its ticks: 100 a second at least.
constexpr std::uint64_t kTickNs = 10 * kMs;

// At each word: computes and sleeps in turn, then prints its CPU time since the last one.
Puppet::Body Turns() {
  return [](const Puppet::Strings& strings) {
    for (;;) {
      strings.Wait();
      const std::uint64_t begin = ThreadCpuNs();
      for (int i = 0; i < kTurns; ++i) {
        Spin(kMs);
        ::usleep(1'000);
      }
      strings.Say({ThreadCpuNs() - begin});
    }
  };
}

std::uint64_t AccountedReadings(const BpfSource& source) {
  return source.Status().counters[PROFD_COUNTER_CLOCKS_BY_KERNEL_ACCOUNTING];
}

TEST_F(KernelAccountingTest, WindowsAddUpAndARequestedThreadHasItsClock) {
  const Puppet sleeper(Turns());
  const Puppet requested(Turns());
  session::SessionSpec all = SpecOf("all");
  all.background = true;
  if (!live_->source().UseKernelAccounting(true)) GTEST_SKIP() << "the kernel keeps no run_delay";
  const std::uint64_t readings = AccountedReadings(live_->source());

  std::uint32_t window = live_->Begin(all);
  const std::uint32_t first = window;
  sleeper.Go();
  const std::uint64_t cpu_ns = sleeper.Hear(1)[0];
  sleeper.AwaitState('S');
  window = live_->Roll(window);
  const Heard before = live_->Await(first);
  EXPECT_GT(AccountedReadings(live_->source()), readings);
  EXPECT_TRUE(before.Stacks(sleeper.pid(), wire::SampleOrigin::kOffCpu).empty());

  const std::uint32_t session = live_->Begin(SpecOf(requested));
  requested.Go();
  const std::uint64_t requested_ns = requested.Hear(1)[0];
  requested.AwaitState('S');
  const Heard exact = live_->End(session);

  EXPECT_TRUE(live_->source().UseKernelAccounting(false));
  sleeper.Go();
  const std::uint64_t later_ns = sleeper.Hear(1)[0];
  sleeper.AwaitState('S');
  const Heard after = live_->End(window);

  const auto grown = [](const Heard& heard, const Puppet& puppet) {
    const auto start = heard.AtStart(puppet.pid());
    const auto end = heard.AtEnd(puppet.pid());
    EXPECT_TRUE(start && end);
    if (!start || !end) return profd_clock{};
    const profd_clock clock = Growth(start->at_epoch, end->at_epoch);
    EXPECT_EQ(SumOf(clock), heard.ElapsedNs());
    return clock;
  };
  const profd_clock accounted = grown(before, sleeper);
  EXPECT_NEAR(static_cast<double>(accounted.on_cpu_ns), static_cast<double>(cpu_ns), kTickNs);
  EXPECT_LT(accounted.on_cpu_count, kTurns) << "switches were left to kernel accounting";
  EXPECT_GE(BlockedOf(accounted), kTurns * kMs);
  const profd_clock mixed = grown(after, sleeper);
  EXPECT_NEAR(static_cast<double>(mixed.on_cpu_ns), static_cast<double>(later_ns), kTickNs);
  EXPECT_GE(mixed.on_cpu_count, kTurns) << "the hooks have it again";
  const profd_clock own = grown(exact, requested);
  EXPECT_NEAR(static_cast<double>(own.on_cpu_ns), static_cast<double>(requested_ns), kTickNs);
  EXPECT_GE(own.on_cpu_count, kTurns);
  EXPECT_FALSE(exact.Stacks(requested.pid(), wire::SampleOrigin::kOffCpu).empty());
}

}  // namespace
}  // namespace profd::source
