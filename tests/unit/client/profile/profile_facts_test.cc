#include "client/profile/profile_facts.h"

#include <gtest/gtest.h>

#include <limits>

#include "bpf/shared/events.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

static_assert(kStackHasNoUserPart == PROFD_STACK_NO_USER);
static_assert(kStackByFramePointer == PROFD_STACK_UNCERTAIN);

TEST(ProfileFacts, CountsTheMarksOfStacksWithAUserPart) {
  const StackFacts facts = StackFactsOf(testing::FramePointerProfile(100, 17));
  EXPECT_EQ(facts.stacks, 117u);
  EXPECT_EQ(facts.by_frame_pointer, 17u);
}

TEST(ProfileFacts, TheModeFollowsFromWhatIsSampled) {
  v1::Profile profile;
  EXPECT_EQ(ModeOf(profile), Mode::kWall);
  profile.set_on_cpu(true);
  EXPECT_EQ(ModeOf(profile), Mode::kOnCpu);
  profile.set_off_cpu(true);
  EXPECT_EQ(ModeOf(profile), Mode::kWall);
  profile.set_on_cpu(false);
  EXPECT_EQ(ModeOf(profile), Mode::kOffCpu);
}

TEST(ProfileFacts, AnEndBeforeTheBeginIsNoTime) {
  v1::Profile profile;
  profile.set_start_ns(7);
  EXPECT_EQ(LengthNs(profile), 0u);
  profile.set_end_ns(10);
  EXPECT_EQ(LengthNs(profile), 3u);
  v1::Thread thread;
  thread.set_begin_ns(9);
  EXPECT_EQ(LengthNs(thread), 0u);
  thread.set_end_ns(10);
  EXPECT_EQ(LengthNs(thread), 1u);
}

TEST(ProfileFacts, TheWorstClosureErrorOfThreadsWithAClockIsShown) {
  v1::Profile profile;
  EXPECT_EQ(ClosureText(profile), "closure 0.00 %");
  profile.add_threads()->set_closure_error(0.0002);
  profile.add_threads()->set_closure_error(-0.015);
  EXPECT_EQ(ClosureText(profile), "closure 1.50 %");
  v1::Thread& without = *profile.add_threads();
  without.set_closure_error(0.5);
  without.set_clock_missing(true);
  profile.add_threads()->set_closure_error(std::numeric_limits<double>::quiet_NaN());
  profile.add_threads()->set_closure_error(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(ClosureText(profile), "closure 1.50 %");
  profile.add_threads()->set_closure_error(1e300);
  EXPECT_EQ(ClosureText(profile), "closure 100000000.00 %");
}

TEST(ProfileFacts, WhatANewerProfdMayKnowIsUnknown) {
  v1::Profile profile;
  profile.mutable_samples()->add_gil(static_cast<v1::Gil>(99));
  profile.mutable_samples()->add_gil(v1::GIL_HELD);
  EXPECT_EQ(GilOf(profile.samples(), 0), v1::GIL_UNKNOWN);
  EXPECT_EQ(GilOf(profile.samples(), 1), v1::GIL_HELD);
  profile.mutable_samples()->clear_gil();
  EXPECT_EQ(GilOf(profile.samples(), 1), v1::GIL_NONE);
}

}  // namespace
}  // namespace profd::client
