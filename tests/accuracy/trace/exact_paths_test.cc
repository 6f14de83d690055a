#include "tests/accuracy/trace/exact_paths.h"

#include <gtest/gtest.h>

namespace profd::accuracy {
namespace {

// A (11) waits for B (12), which computes, waits for a timer, and computes again. 13 is a spinner.
constexpr const char* kTrace = R"(# tracer: nop
#              | |         |   |||||     |         |
           a b-11      [000] d..2.   100.000000: sched_switch: prev_comm=a b prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=next_pid=7 next_pid=12 next_prio=120
             B-12      [000] d..2.   100.000400: sched_switch: prev_comm=B prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=spins-x next_pid=13 next_prio=120
       spins-x-13      [000] dNh4.   100.000900: sched_waking: comm=B pid=12 prio=120 target_cpu=000
       spins-x-13      [000] dNh4.   100.000903: sched_wakeup: comm=B pid=12 prio=120 target_cpu=000
       spins-x-13      [000] d..2.   100.000950: sched_switch: prev_comm=spins-x prev_pid=13 prev_prio=120 prev_state=R+ ==> next_comm=B next_pid=12 next_prio=120
             B-12      [000] dN.3.   100.001000: sched_waking: comm=a b pid=11 prio=120 target_cpu=000
             B-12      [000] dN.3.   100.001002: sched_wakeup: comm=a b pid=11 prio=120 target_cpu=000
             B-12      [000] d..2.   100.001010: sched_switch: prev_comm=B prev_pid=12 prev_prio=120 prev_state=R ==> next_comm=a b next_pid=11 next_prio=120
)";

std::string NameOf(std::uint32_t tid) { return tid == 12 ? "B" : "other"; }

TEST(ExactPathsTest, EachInstantOfAWaitHasOneEnd) {
  const ExactPaths paths(ParseSwitches(kTrace));
  const ExactWaits waits = paths.Of(11, {0, ~0ull}, NameOf);
  EXPECT_EQ(waits.blocked_ns, 1e6);
  EXPECT_EQ(waits.unsure_ns, 3e3) << "2 us to wake it, 1 us of rounding";
  const std::map<std::string, double> expected{{"B runs", 5e5}, {"B timer", 5e5}};
  EXPECT_EQ(waits.ns_by_path, expected);
}

TEST(ExactPathsTest, OnlyTheRangeCounts) {
  const ExactPaths paths(ParseSwitches(kTrace));
  const ExactWaits waits = paths.Of(11, {100'000'300'000, 100'000'500'000}, NameOf);
  const std::map<std::string, double> expected{{"B runs", 1e5}, {"B timer", 1e5}};
  EXPECT_EQ(waits.ns_by_path, expected);
}

TEST(ExactPathsTest, AWakeUpThatIsMissingIsNotSeen) {
  std::vector<SwitchEvent> events = ParseSwitches(kTrace);
  std::erase_if(events, [](const SwitchEvent& event) {
    return event.kind != SwitchEvent::Kind::kSwitch && event.other == 12;
  });
  const ExactWaits waits = ExactPaths(events).Of(11, {0, ~0ull}, NameOf);
  const std::map<std::string, double> expected{{"B runs", 4.5e5}, {"B ?not seen", 5.5e5}};
  EXPECT_EQ(waits.ns_by_path, expected);
}

TEST(ExactPathsTest, AThreadThatIsPreemptedDoesNotWait) {
  const ExactPaths paths(ParseSwitches(kTrace));
  EXPECT_EQ(paths.Of(13, {0, ~0ull}, NameOf).blocked_ns, 0);
}

TEST(ExactPathsTest, WhatIsNoEventIsPassedOver) {
  EXPECT_TRUE(ParseSwitches("CPU:0 [LOST 7 EVENTS]\n\nx: sched_switch: \n").empty());
}

}  // namespace
}  // namespace profd::accuracy
