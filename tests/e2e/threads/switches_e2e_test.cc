// profctl collect --switches of a program that counts its own switches by the kernel's accounting:
// each of them is recorded, who wakes it is the thread that does, and the times add up to the
// clocks.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class SwitchesTest : public ProfctlTest {
 protected:
  void Collect(const std::vector<std::string>& more, unsigned rounds = 300) {
    std::vector<std::string> arguments{"collect", "-o", File("x.json"), "--switches"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", TestProgram("handoffs"), std::to_string(rounds)});
    const auto outcome = Profctl(std::move(arguments));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    profile_ = ReadProfile(File("x.json"));
    truth_ = json::parse(outcome.out.substr(outcome.out.find("{\"giver\"")));
  }
  [[nodiscard]] std::uint32_t ThreadOf(const char* name) const {
    for (int i = 0; i < profile_.threads_size(); ++i)
      if (profile_.threads(i).tid() == truth_[name].get<std::uint32_t>())
        return static_cast<std::uint32_t>(i);
    ADD_FAILURE() << name << " is not there";
    return 0;
  }
  struct Count {
    std::uint64_t voluntary = 0;
    std::uint64_t involuntary = 0;
  };
  // How often the thread left its CPU in this time.
  [[nodiscard]] Count LeftIn(std::uint32_t thread, std::uint64_t from_ns,
                             std::uint64_t to_ns) const {
    const v1::Switches& all = profile_.switches();
    Count count;
    for (int i = 0; i < all.thread_size(); ++i) {
      if (all.thread(i) != thread || all.out_ns(i) < from_ns || all.out_ns(i) >= to_ns) continue;
      const bool forced =
          all.reason(i) == v1::LEAVE_PREEMPTED || all.reason(i) == v1::LEAVE_YIELDED;
      ++(forced ? count.involuntary : count.voluntary);
    }
    return count;
  }

  v1::Profile profile_;
  json truth_;
};

TEST_F(SwitchesTest, EverySwitchIsRecordedAndWhoWakesTheThread) {
  ASSERT_NO_FATAL_FAILURE(Collect({}));
  ASSERT_TRUE(profile_.has_switches());
  EXPECT_EQ(profile_.switches().incomplete_size(), 0);
  const std::uint32_t taker = ThreadOf("taker");
  const auto at = [&](const char* reading, int side) {
    return truth_[reading][side].get<std::uint64_t>();
  };
  // A switch between a reading and one of its two times may count or not.
  const Count least = LeftIn(taker, at("begin_ns", 1), at("end_ns", 0));
  const Count most = LeftIn(taker, at("begin_ns", 0), at("end_ns", 1));
  EXPECT_GE(truth_["voluntary"].get<std::uint64_t>(), least.voluntary);
  EXPECT_LE(truth_["voluntary"].get<std::uint64_t>(), most.voluntary);
  EXPECT_GE(truth_["involuntary"].get<std::uint64_t>(), least.involuntary);
  EXPECT_LE(truth_["involuntary"].get<std::uint64_t>(), most.involuntary);
  EXPECT_GT(least.voluntary, 100u) << "the taker waits nearly every time";

  const v1::Switches& all = profile_.switches();
  std::uint64_t by_giver = 0;
  for (int i = 0; i < all.thread_size(); ++i) {
    if (all.thread(i) != taker || all.reason(i) != v1::LEAVE_SLEEP || all.in_ns(i) == 0) continue;
    if (all.out_ns(i) < at("begin_ns", 1) || all.in_ns(i) >= at("end_ns", 0)) continue;
    EXPECT_EQ(all.waker_tid(i), truth_["giver"].get<std::uint32_t>());
    EXPECT_GE(all.woken_ns(i), all.out_ns(i));
    EXPECT_LE(all.woken_ns(i), all.in_ns(i));
    ++by_giver;
  }
  EXPECT_GT(by_giver, 100u);
}

TEST_F(SwitchesTest, TheirTimesAddUpToTheClocks) {
  ASSERT_NO_FATAL_FAILURE(Collect({}));
  const v1::Switches& all = profile_.switches();
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> off;  // blocked, runnable
  for (int i = 0; i < all.thread_size(); ++i) {
    const v1::Thread& thread = profile_.threads(static_cast<int>(all.thread(i)));
    const std::uint64_t in_ns = all.in_ns(i) == 0 ? thread.end_ns() : all.in_ns(i);
    off[all.thread(i)].first += all.ready_ns(i) - all.out_ns(i);
    off[all.thread(i)].second += in_ns - all.ready_ns(i);
  }
  for (const char* name : {"giver", "taker"}) {
    const v1::ThreadClock& clock = profile_.threads(static_cast<int>(ThreadOf(name))).clock();
    const auto& [blocked_ns, runnable_ns] = off[ThreadOf(name)];
    EXPECT_EQ(blocked_ns, clock.blocked_interruptible_ns() + clock.blocked_uninterruptible_ns() +
                              clock.blocked_iowait_ns())
        << name;
    EXPECT_EQ(runnable_ns, clock.runnable_after_wakeup_ns() + clock.runnable_after_preemption_ns() +
                               clock.runnable_after_yield_ns())
        << name;
  }
}

TEST_F(SwitchesTest, TimelinesHaveThem) {
  ASSERT_NO_FATAL_FAILURE(Collect({}, 100));
  const auto outcome = Profctl({"export", File("x.json"), "-f", "chrome", "-o", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json trace = json::parse(outcome.out);
  std::size_t woken = 0;
  for (const json& event : trace["traceEvents"]) {
    // A wait that has not ended has no waker, and no arguments.
    const json arguments = event.value("args", json::object());
    if (event["ph"] == "X" && event["name"] == "blocked, sleep" &&
        arguments.value("woken by", "").starts_with("handoffs"))
      ++woken;
  }
  EXPECT_GT(woken, 30u);
}

TEST_F(SwitchesTest, WithoutHooksItIsRefused) {
  const auto outcome = Profctl({"collect", "--switches", "--no-hooks", "-o", File("x.json"), "--",
                                TestProgram("handoffs"), "1"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("--switches has no meaning with --no-hooks"));
}

}  // namespace
}  // namespace profd::e2e
