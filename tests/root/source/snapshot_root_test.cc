#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/root/source/live_test.h"
#include "tests/root/source/stuck_file.h"
#include "tests/testprogs/raw_syscall.h"

namespace profd::source {
namespace {

using SnapshotTest = LiveTest;
using wire::SampleOrigin;

constexpr std::uint64_t kMs = 1'000'000;

[[gnu::noinline]] void WaitForever() {
  testprog::RawSleep(3'600'000 * static_cast<std::int64_t>(kMs));
}

TEST_F(SnapshotTest, AThreadThatIsStillBlockedAppearsWithItsStack) {
  const Puppet puppet([](const Puppet::Strings&) { WaitForever(); });
  puppet.AwaitState('S');
  const Heard heard = live_->End(live_->Begin(SpecOf(puppet)));
  const auto stacks = heard.Stacks(puppet.pid(), SampleOrigin::kSnapshot);
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_LT(stacks[0].begin_ns, heard.start.epoch_ns) << "it slept before the session";
  EXPECT_GE(stacks[0].header.time_ns, heard.end.epoch_ns);
  EXPECT_EQ(stacks[0].syscall, SYS_nanosleep);
  EXPECT_FALSE(stacks[0].kernel_frames.empty());
  ASSERT_GE(stacks[0].user_frames.size(), 2u);
  const auto function = reinterpret_cast<std::uint64_t>(&WaitForever);
  EXPECT_GE(stacks[0].user_frames[0], function);
  EXPECT_LE(stacks[0].user_frames[0], function + 256);
}

TEST_F(SnapshotTest, AThreadThatRunsIsNotInIt) {
  const Puppet puppet([](const Puppet::Strings&) { Spin(3'600'000 * kMs); });
  const auto session = live_->Begin(SpecOf(puppet));
  const Heard heard = live_->End(session);
  EXPECT_TRUE(heard.Stacks(puppet.pid(), SampleOrigin::kSnapshot).empty());
}

TEST_F(SnapshotTest, OnCpuSessionsTakeNone) {
  const Puppet puppet([](const Puppet::Strings&) { WaitForever(); });
  puppet.AwaitState('S');
  session::SessionSpec spec = SpecOf(puppet);
  spec.off_cpu = false;
  const Heard heard = live_->End(live_->Begin(spec));
  EXPECT_TRUE(heard.Stacks(puppet.pid(), SampleOrigin::kSnapshot).empty());
}

TEST_F(SnapshotTest, AThreadWhoseMemoryCannotBeReadDoesNotHoldUpTheSession) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the hostile program is written for x86-64";
#endif
  const auto file = StuckFile::Mount();
  if (!file) GTEST_SKIP() << file.error().message;
  const std::string path = (*file)->path();
  const Puppet hostile(Hanging(path));
  ASSERT_EQ(hostile.Hear(1)[0], 1u);
  hostile.AwaitState('S');
  const Puppet harmless([](const Puppet::Strings&) { WaitForever(); });
  harmless.AwaitState('S');
  const auto counter = [](const Heard& heard) {
    return heard.All<wire::CountersEvent>().back().values[PROFD_COUNTER_SNAPSHOT_TIMEOUT];
  };
  const std::uint64_t before = live_->source().Status().counters[PROFD_COUNTER_SNAPSHOT_TIMEOUT];

  const auto session = live_->Begin(SpecOf("pid " + std::to_string(hostile.pid())));
  const Heard heard = live_->End(session);
  ASSERT_TRUE(heard.AtEnd(hostile.pid())) << "its clock is there all the same";
  EXPECT_EQ(
      SumOf(Growth(heard.AtStart(hostile.pid())->at_epoch, heard.AtEnd(hostile.pid())->at_epoch)),
      heard.ElapsedNs());
  EXPECT_EQ(counter(heard), before + 1);

  // The next session has its snapshot: nothing hangs on.
  const auto next = live_->Begin(SpecOf(harmless));
  EXPECT_EQ(live_->End(next).Stacks(harmless.pid(), SampleOrigin::kSnapshot).size(), 1u);

  // Nor does it cost the others of its own session their stacks.
  const auto both = live_->Begin(
      SpecOf("pid " + std::to_string(hostile.pid()) + "," + std::to_string(harmless.pid())));
  const Heard together = live_->End(both);
  EXPECT_EQ(together.Stacks(harmless.pid(), SampleOrigin::kSnapshot).size(), 1u);
  EXPECT_EQ(counter(together), before + 1) << "the hostile one is left alone";
}

// More of them than the readers that root's programs may have hanging.
TEST_F(SnapshotTest, HangingProcessesOfAUserCostOthersNoUserStacks) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the hostile program is written for x86-64";
#endif
  constexpr uid_t kUser = 4'200'502;
  constexpr std::size_t kHanging = 8;
  const auto file = StuckFile::Mount();
  if (!file) GTEST_SKIP() << file.error().message;
  std::string pids;
  std::vector<std::unique_ptr<Puppet>> hostile;
  for (std::size_t i = 0; i < kHanging; ++i) {
    hostile.push_back(std::make_unique<Puppet>(Hanging((*file)->path(), kUser)));
    ASSERT_EQ(hostile.back()->Hear(1)[0], 1u);
    hostile.back()->AwaitState('S');
    pids += std::to_string(hostile.back()->pid()) + ",";
  }
  const Puppet harmless([](const Puppet::Strings&) { WaitForever(); });
  harmless.AwaitState('S');
  for (int session = 0; session < 4; ++session) {
    const auto number = live_->Begin(SpecOf("pid " + pids + std::to_string(harmless.pid())));
    const Heard heard = live_->End(number);
    const auto stacks = heard.Stacks(harmless.pid(), SampleOrigin::kSnapshot);
    ASSERT_EQ(stacks.size(), 1u) << session;
    EXPECT_FALSE(stacks[0].user_frames.empty()) << session;
    for (const auto& one : hostile) {
      const auto kernel_only = heard.Stacks(one->pid(), SampleOrigin::kSnapshot);
      ASSERT_EQ(kernel_only.size(), 1u) << session;
      EXPECT_FALSE(kernel_only[0].kernel_frames.empty()) << session;
    }
  }
  const auto beyond = live_->source().Status().beyond_share;
  const auto named = [&](const std::string& who) {
    return std::ranges::any_of(beyond,
                               [&](const std::string& text) { return text.starts_with(who); });
  };
  EXPECT_TRUE(named("user " + std::to_string(kUser) + ": memory of several processes"));
  const auto alone = std::ranges::count_if(hostile, [&](const auto& one) {
    return named("process " + std::to_string(one->pid()) + " ");
  });
  EXPECT_EQ(alone, 2) << "so many readers are what it costs";
}

}  // namespace
}  // namespace profd::source
