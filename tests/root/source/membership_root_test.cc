#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "daemon/source/sessions/filter.h"
#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using MembershipTest = LiveTest;
using wire::ClockEvent;
using wire::ForkEvent;
using wire::SampleOrigin;

constexpr std::uint64_t kMs = 1'000'000;

// Threads of which the session has a clock.
std::set<std::uint32_t> Members(const Heard& heard) {
  std::set<std::uint32_t> tids;
  for (const auto& clock : heard.All<ClockEvent>())
    if ((clock.header.sessions >> heard.start.session & 1) != 0)
      tids.insert(clock.header.thread.tid);
  return tids;
}

// Forks children one after the other, each of which spins a little and ends.
void ForkStorm(int children) {
  for (int i = 0; i < children; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      Spin(kMs / 10);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
}

TEST_F(MembershipTest, ChildrenAreFollowedFromTheirFirstInstruction) {
  constexpr int kChildren = 200;
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    ForkStorm(kChildren);
    strings.Say({1});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet, " +children"));
  puppet.Go();
  ASSERT_EQ(puppet.Hear(1)[0], 1u);
  const Heard heard = live_->End(session);

  std::set<ThreadKey> forked;
  for (const auto& fork : heard.All<ForkEvent>()) {
    EXPECT_TRUE(fork.new_process);
    EXPECT_EQ(fork.parent_pid, puppet.pid());
    forked.insert(fork.header.thread);
  }
  EXPECT_EQ(forked.size(), static_cast<std::size_t>(kChildren));
  int ended = 0;
  for (const auto& clock : heard.All<ClockEvent>()) {
    if (!clock.end) continue;
    ++ended;
    EXPECT_TRUE(forked.contains(clock.header.thread));
    const std::uint64_t lived_ns = clock.header.time_ns - clock.begin_ns;
    EXPECT_NEAR(static_cast<double>(SumOf(clock.final)) / static_cast<double>(lived_ns), 1.0,
                0.001);
    EXPECT_GT(clock.final.on_cpu_ns, kMs / 20);
  }
  EXPECT_EQ(ended, kChildren);
}

TEST_F(MembershipTest, WithoutChildrenTheyAreLeftAlone) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    ForkStorm(20);
    strings.Say({1});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  puppet.Go();
  ASSERT_EQ(puppet.Hear(1)[0], 1u);
  EXPECT_EQ(Members(live_->End(session)), std::set{puppet.pid()});
}

TEST_F(MembershipTest, ChildrenThatAreThereAlreadyBelongToo) {
  Puppet puppet([](const Puppet::Strings& strings) {
    const pid_t child = ::fork();
    if (child == 0) {
      strings.Wait();
      ::_exit(0);
    }
    strings.Say({static_cast<std::uint64_t>(child)});
    ::waitpid(child, nullptr, 0);
  });
  const auto child = static_cast<std::uint32_t>(puppet.Hear(1)[0]);
  const auto with = live_->Begin(SpecOf(puppet, " +children"));
  EXPECT_EQ(Members(live_->End(with)), (std::set{puppet.pid(), child}));
  const auto without = live_->Begin(SpecOf(puppet));
  EXPECT_EQ(Members(live_->End(without)), std::set{puppet.pid()});
  puppet.Go();
}

TEST_F(MembershipTest, ThreadsThatComeAndGoAreAllThere) {
  constexpr int kThreads = 300;
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    for (int i = 0; i < kThreads; ++i) std::thread([] { Spin(kMs / 10); }).join();
    strings.Say({1});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  puppet.Go();
  ASSERT_EQ(puppet.Hear(1)[0], 1u);
  const Heard heard = live_->End(session);
  EXPECT_EQ(Members(heard).size(), kThreads + 1u);
  for (const auto& fork : heard.All<ForkEvent>()) EXPECT_FALSE(fork.new_process);
}

TEST_F(MembershipTest, ATidIsThatThreadAlone) {
  Puppet puppet([](const Puppet::Strings& strings) {
    std::jthread other([](const std::stop_token& stop) {
      while (!stop.stop_requested()) Spin(kMs);
    });
    strings.Say({ThreadId()});
    strings.Wait();
    Spin(50 * kMs);
    std::thread([] { Spin(kMs); }).join();
    strings.Say({1});
    strings.Wait();
  });
  const auto tid = static_cast<std::uint32_t>(puppet.Hear(1)[0]);
  session::SessionSpec spec = SpecOf("tid " + std::to_string(tid));
  spec.on_cpu_period_ns = kMs;
  const auto session = live_->Begin(spec);
  puppet.Go();
  ASSERT_EQ(puppet.Hear(1)[0], 1u);
  const Heard heard = live_->End(session);
  EXPECT_EQ(Members(heard), std::set{tid});
  EXPECT_FALSE(heard.Stacks(tid, SampleOrigin::kOnCpu).empty());
  for (const auto& stack : heard.All<wire::StackEvent>()) EXPECT_EQ(stack.header.thread.tid, tid);
  puppet.Go();
}

TEST_F(MembershipTest, ACommIsTheThreadsOfThatNameAlsoLaterOnes) {
  const Puppet early([](const Puppet::Strings& strings) {
    ::prctl(PR_SET_NAME, "profd-comm-test");
    strings.Say({1});
    strings.Wait();
  });
  Puppet late([](const Puppet::Strings& strings) {
    strings.Say({1});
    strings.Wait();
    ::prctl(PR_SET_NAME, "profd-comm-test");
    strings.Say({1});
    strings.Wait();
  });
  ASSERT_EQ(early.Hear(1)[0] + late.Hear(1)[0], 2u);
  const auto session = live_->Begin(SpecOf("comm profd-comm-test"));
  late.Go();
  ASSERT_EQ(late.Hear(1)[0], 1u);
  const Heard heard = live_->End(session);
  EXPECT_EQ(Members(heard), (std::set{early.pid(), late.pid()}));
  const auto of_early = heard.AtStart(early.pid());
  const auto of_late = heard.AtStart(late.pid());
  ASSERT_TRUE(of_early && of_late);
  EXPECT_EQ(of_early->epoch_ns, heard.start.epoch_ns);
  EXPECT_GT(of_late->epoch_ns, heard.start.epoch_ns) << "it joined when it took the name";
}

TEST_F(MembershipTest, AnEmptyStartIsAllowedForNames) {
  const auto session = live_->Begin(SpecOf("comm no-such-comm"));
  EXPECT_TRUE(Members(live_->End(session)).empty());
}

TEST_F(MembershipTest, ACgroupIsWhatRunsInIt) {
  const auto mount = CgroupDirectory("/", ProcFs());
  if (!mount) GTEST_SKIP() << mount.error().message;
  const std::string name = "/profd-test-" + std::to_string(::getpid());
  const std::string directory = *mount + name;
  if (::mkdir(directory.c_str(), 0755) != 0) GTEST_SKIP() << "cannot make " << directory;
  {
    const Puppet inside([](const Puppet::Strings& strings) { strings.Wait(); });
    const Puppet outside([](const Puppet::Strings& strings) { strings.Wait(); });
    std::ofstream(directory + "/cgroup.procs") << inside.pid() << std::flush;
    const auto by_path = live_->Begin(SpecOf("cgroup " + directory));
    EXPECT_EQ(Members(live_->End(by_path)), std::set{inside.pid()});
    const auto by_name = live_->Begin(SpecOf("cgroup " + name));
    EXPECT_EQ(Members(live_->End(by_name)), std::set{inside.pid()});
  }
  EXPECT_EQ(::rmdir(directory.c_str()), 0);
}

TEST_F(MembershipTest, WhatMovesIntoACgroupBelongsFromThenOn) {
  const auto mount = CgroupDirectory("/", ProcFs());
  if (!mount) GTEST_SKIP() << mount.error().message;
  const std::string directory = *mount + "/profd-move-" + std::to_string(::getpid());
  if (::mkdir(directory.c_str(), 0755) != 0) GTEST_SKIP() << "cannot make " << directory;
  {
    // Two threads: the kernel reports the move of the process only for the first one.
    const Puppet puppet([](const Puppet::Strings& strings) {
      std::thread other([&] {
        strings.Say({ThreadId()});
        strings.Wait();
      });
      other.join();
    });
    const auto tid = static_cast<std::uint32_t>(puppet.Hear(1)[0]);
    const auto session = live_->Begin(SpecOf("cgroup " + directory));
    const std::uint64_t before = MonotonicNs();
    std::ofstream(directory + "/cgroup.procs") << puppet.pid() << std::flush;
    const std::uint64_t after = MonotonicNs();
    const Heard heard = live_->End(session);
    EXPECT_EQ(Members(heard), (std::set{puppet.pid(), tid}));
    for (const std::uint32_t member : {puppet.pid(), tid}) {
      const auto joined = heard.AtStart(member);
      ASSERT_TRUE(joined) << member;
      EXPECT_GE(joined->epoch_ns, before);
      EXPECT_LE(joined->epoch_ns, member == tid ? heard.end.epoch_ns : after);
    }

    const auto inside = live_->Begin(SpecOf("cgroup " + directory));
    std::ofstream(*mount + "/cgroup.procs") << puppet.pid() << std::flush;
    const std::uint64_t gone = MonotonicNs();
    const Heard left = live_->End(inside);
    for (const std::uint32_t member : {puppet.pid(), tid}) {
      const auto end = left.AtEnd(member);
      ASSERT_TRUE(end) << member;
      EXPECT_TRUE(end->end);
      EXPECT_LE(end->header.time_ns, member == tid ? left.end.epoch_ns : gone);
    }
  }
  EXPECT_EQ(::rmdir(directory.c_str()), 0);
}

TEST_F(MembershipTest, ProfdIsNotSampledUnlessNamed) {
  const auto own = static_cast<std::uint32_t>(::getpid());
  const Puppet other([](const Puppet::Strings& strings) { strings.Wait(); });
  other.AwaitState('S');
  const auto all = live_->Begin(SpecOf("all"));
  const Heard everything = live_->End(all);
  EXPECT_TRUE(Members(everything).contains(other.pid()));
  for (const auto& clock : everything.All<ClockEvent>()) EXPECT_NE(clock.header.process.pid, own);

  const auto named = live_->Begin(SpecOf("pid " + std::to_string(own)));
  Spin(20 * kMs);
  EXPECT_TRUE(Members(live_->End(named)).contains(own));
}

TEST_F(MembershipTest, KernelThreadsOnRequest) {
  const auto kernel_threads = [](const Heard& heard) {
    return std::ranges::count_if(heard.All<ClockEvent>(), [](const ClockEvent& clock) {
      return clock.header.process.pid == 2 || clock.comm.starts_with("kworker");
    });
  };
  const auto without = live_->Begin(SpecOf("all"));
  EXPECT_EQ(kernel_threads(live_->End(without)), 0);
  const auto with = live_->Begin(SpecOf("all +kernel"));
  EXPECT_GT(kernel_threads(live_->End(with)), 0);
}

}  // namespace
}  // namespace profd::source
