// Steps on the real kernel: each call of what is watched is an event, within the instants at which
// its program read the clock before and after.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/source/steps/answering_file.h"
#include "tests/root/source/live_test.h"
#include "tests/root/source/stuck_file.h"
#include "tests/support/eventually.h"
#include "tests/testprogs/steps/record_function.h"

namespace profd::source {
namespace {

using torch::autograd::profiler::record_function_enter_new;
using wire::StepEvent;
using wire::StepSourceEvent;

constexpr std::uint64_t kSteps = 50;
constexpr uid_t kOneUser = 2;  // "bin" of Debian, which runs nothing else

class StepTest : public LiveTest {
 protected:
  static session::SessionSpec SpecOf(const Puppet& puppet, const std::string& step,
                                     const std::string& flags = "") {
    session::SessionSpec spec = LiveTest::SpecOf(puppet, flags);
    auto parsed = session::ParseStepSpec(step);
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (parsed) spec.steps.push_back(*std::move(parsed));
    return spec;
  }
};

// After Go, calls `step` so often, and says the times before and after each.
template <typename Step>
Puppet::Body Loop(const Step& step) {
  return [step](const Puppet::Strings& strings) {
    while (true) {
      strings.Wait();
      std::vector<std::uint64_t> times;
      for (std::uint64_t i = 0; i < kSteps; ++i) {
        times.push_back(MonotonicNs());
        step();
        times.push_back(MonotonicNs());
      }
      strings.Say(times);
    }
  };
}

void CheckTimes(const std::vector<StepEvent>& events, const std::vector<std::uint64_t>& times,
                std::size_t each = 1) {
  ASSERT_EQ(events.size() * 2, times.size() * each);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_GE(events[i].header.time_ns, times[2 * (i / each)]) << i;
    EXPECT_LE(events[i].header.time_ns, times[2 * (i / each) + 1]) << i;
  }
}

TEST_F(StepTest, WhatPyTorchSaysIsSeenWithNameAndTime) {
  const std::string long_name(100, 'x');
  Puppet puppet([&long_name](const Puppet::Strings& strings) {
    strings.Wait();
    std::vector<std::uint64_t> times;
    for (std::uint64_t i = 0; i < kSteps; ++i) {
      const std::string name = i % 2 == 0 ? "Optimizer.step#Adam.step" : i == 1 ? "" : long_name;
      times.push_back(MonotonicNs());
      const auto record = record_function_enter_new(name);
      times.push_back(MonotonicNs());
      times.push_back(MonotonicNs());
      profd::steps::Leave(record);
      times.push_back(MonotonicNs());
    }
    strings.Say(times);
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet, "record_function"));
  puppet.Go();
  const auto times = puppet.Hear(4 * kSteps);
  const Heard heard = live_->End(session);

  const auto sources = heard.All<StepSourceEvent>();
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].text, "record_function");
  EXPECT_EQ(sources[0].refused, "");
  EXPECT_TRUE(sources[0].names);
  EXPECT_TRUE(sources[0].ends);
  const auto events = heard.All<StepEvent>();
  CheckTimes(events, times);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].header.process.pid, puppet.pid());
    EXPECT_EQ(events[i].header.thread.tid, puppet.pid());
    EXPECT_EQ(events[i].end, i % 2 == 1) << i;
    if (events[i].end) continue;
    EXPECT_FALSE(events[i].name_missing);
    const std::string name = i / 2 % 2 == 0 ? "Optimizer.step#Adam.step"
                             : i / 2 == 1   ? ""
                                            : std::string(PROFD_STEP_NAME_BYTES, 'x');
    EXPECT_EQ(events[i].name, name) << i;
    EXPECT_EQ(events[i].name_cut, name.starts_with('x')) << i;
  }
}

TEST_F(StepTest, AFunctionAndAStaticProbeAreSeen) {
  Puppet worker(Loop([] { work_step(); }));
  Puppet prober(Loop([] { pass_static_probe(); }));
  worker.AwaitState('S');
  prober.AwaitState('S');
  const auto function = live_->Begin(SpecOf(worker, "uprobe:libtorch_cpu.so:work_step"));
  const auto probe = live_->Begin(SpecOf(prober, "usdt:libtorch_cpu.so:trainer:step"));
  worker.Go();
  prober.Go();
  const auto worked = worker.Hear(2 * kSteps);
  const auto passed = prober.Hear(2 * kSteps);
  const auto of = [](const Heard& heard, const Puppet& puppet) {
    auto events = heard.All<StepEvent>();
    std::erase_if(events,
                  [&](const StepEvent& event) { return event.header.process.pid != puppet.pid(); });
    return events;
  };
  CheckTimes(of(live_->End(function), worker), worked);
  // Two places have this name.
  CheckTimes(of(live_->End(probe), prober), passed, 2);
}

TEST_F(StepTest, ASemaphoreCountsWhoWatchesAndOnlyWhileASessionDoes) {
  Puppet puppet([](const Puppet::Strings& strings) {
    while (true) {
      strings.Wait();
      strings.Say({probe_users()});
    }
  });
  puppet.AwaitState('S');
  const auto users = [&puppet] {
    puppet.Go();
    return puppet.Hear(1)[0];
  };
  EXPECT_EQ(users(), 0u);
  const auto session = live_->Begin(SpecOf(puppet, "usdt:libtorch_cpu.so:trainer:counted"));
  EXPECT_EQ(users(), 1u);
  (void)live_->End(session);
  // The process that had it attached ends in its own time.
  EXPECT_TRUE(test::Eventually([&] { return users() == 0; }));
}

TEST_F(StepTest, OtherProcessesAreNotReportedNorSlowed) {
  Puppet member(Loop([] { work_step(); }));
  Puppet other([](const Puppet::Strings& strings) {
    strings.Wait();
    // Where a breakpoint is, the first byte of the function is int3.
    strings.Say({*reinterpret_cast<const volatile unsigned char*>(&work_step)});
    strings.Wait();
  });
  member.AwaitState('S');
  other.AwaitState('S');
  const auto session = live_->Begin(SpecOf(member, "uprobe:libtorch_cpu.so:work_step"));
  other.Go();
  EXPECT_NE(other.Hear(1)[0], 0xccu);
  member.Go();
  const auto times = member.Hear(2 * kSteps);
  CheckTimes(live_->End(session).All<StepEvent>(), times);
}

TEST_F(StepTest, AProcessThatIsForkedDuringASessionIsWatchedAsItsParent) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    const pid_t child = ::fork();
    if (child == 0) {
      while (true) {
        strings.Wait();
        strings.Say({MonotonicNs()});
        work_step();
        strings.Say({MonotonicNs()});
      }
    }
    ::waitpid(child, nullptr, 0);
  });
  puppet.AwaitState('S');
  const auto session =
      live_->Begin(SpecOf(puppet, "uprobe:libtorch_cpu.so:work_step", " +children"));
  const std::uint64_t before = live_->source().Status().counters.at(PROFD_COUNTER_STEPS);
  puppet.Go();
  // It is watched some time after it began: all calls from one of them on are seen.
  std::vector<std::uint64_t> times;
  ASSERT_TRUE(test::Eventually([&] {
    puppet.Go();
    const auto both = puppet.Hear(2);
    times.insert(times.end(), both.begin(), both.end());
    return live_->source().Status().counters.at(PROFD_COUNTER_STEPS) >= before + kSteps;
  }));
  const auto events = live_->End(session).All<StepEvent>();
  ASSERT_EQ(events.size(), kSteps);
  times.erase(times.begin(), times.end() - 2 * kSteps);
  CheckTimes(events, times);
}

// Nothing on the host could fork while the kernel waits for its page.
TEST_F(StepTest, AFileThatAUserMayKeepFromBeingReadIsNotWatched) {
  const auto stuck = StuckFile::Mount();
  if (!stuck) GTEST_SKIP() << stuck.error().message;
  reader::Opener opener;
  const auto own_pid = static_cast<std::uint32_t>(::getpid());
  const UniqueFd file(::open((*stuck)->path().c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  const auto answers = CheckAnswers(opener, file.get(), own_pid);
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().code, ErrorCode::kUnsupported);
  const UniqueFd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(CheckAnswers(opener, own.get(), own_pid));
}

TEST_F(StepTest, WhatCannotBeWatchedSaysWhy) {
  Puppet puppet([](const Puppet::Strings& strings) { strings.Wait(); });
  puppet.AwaitState('S');
  const auto refused = [&](const std::string& step) {
    const auto started = live_->source().StartSession(SpecOf(puppet, step));
    EXPECT_FALSE(started) << step;
    return started ? std::string() : started.error().message;
  };
  EXPECT_NE(refused("uprobe:libtorch_cpu.so:no_such").find("no function no_such"),
            std::string::npos);
  EXPECT_NE(refused("usdt:libtorch_cpu.so:trainer:no_such").find("no static probe trainer:no_such"),
            std::string::npos);
  EXPECT_NE(refused("uprobe:libno_such.so:x").find("has mapped libno_such.so"), std::string::npos);
  // A client that may not see everything could stop the host that way.
  session::SessionSpec confined = SpecOf(puppet, "uprobe:libtorch_cpu.so:work_step");
  confined.target.uid = kOneUser;
  const auto started = live_->source().StartSession(confined);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kPermissionDenied);
}

}  // namespace
}  // namespace profd::source
