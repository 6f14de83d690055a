#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bpf/shared/control.h"
#include "daemon/wire/decoder.h"
#include "tests/support/raw_events.h"
#include "tests/unit/wire/error_of.h"

namespace profd::wire {
namespace {

using test::RawEventBytes;
using test::RawHeader;
using test::RawNumbers;
using ::testing::ElementsAre;

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

template <typename T>
T Decoded(const EventBytes& bytes) {
  Result<Event> event = DecodeEvent({bytes});
  EXPECT_TRUE(event) << event.error().message;
  return event ? std::get<T>(*std::move(event)) : T{};
}

// Its total and its number would be no begin and no duration.
profd_sample_event Observed(unsigned flags = 0) {
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.event.flags = static_cast<__u16>(PROFD_SAMPLE_OBSERVED | flags);
  fixed.held_ns = kHuge;
  fixed.stack_number = kHuge - 1;
  fixed.period_ns = 100;
  fixed.blocked_points = 9;
  fixed.registers = 0xfeedbeef;
  fixed.syscall = 202;
  fixed.user_frames = 1;
  return fixed;
}

profd_clock_event Clock() {
  profd_clock_event fixed{};
  fixed.event = RawHeader(12);
  fixed.epoch = 2;
  fixed.begin_ns = 1;
  fixed.held_ns = kHuge;
  fixed.state = PROFD_STATE_BLOCKED;
  fixed.stack_number = 7;
  return fixed;
}

TEST(ObservedDecoderTest, ASampleIsOnePointOfTheStateThatItsFlagsSay) {
  struct Case {
    unsigned flags;
    bool runnable;
  };
  for (const Case& one :
       {Case{0, false}, Case{PROFD_SAMPLE_WOKEN, true}, Case{PROFD_SAMPLE_PREEMPTED, true},
        Case{PROFD_SAMPLE_IOWAIT | PROFD_SAMPLE_BACKGROUND, false},
        Case{3 << PROFD_SAMPLE_HALVINGS_SHIFT, false}}) {
    SCOPED_TRACE(one.flags);
    const auto event = Decoded<StackEvent>(
        RawEventBytes(PROFD_EVENT_OFF_CPU, Observed(one.flags), RawNumbers({21})));
    EXPECT_EQ(event.origin, SampleOrigin::kOffCpu);
    EXPECT_EQ(event.begin_ns, 4'999u);
    EXPECT_EQ(event.runnable_ns, 0u);
    EXPECT_EQ(event.period_ns, 100u);
    EXPECT_EQ(event.blocked_points, one.runnable ? 0u : 1u);
    EXPECT_EQ(event.runnable_points, one.runnable ? 1u : 0u);
    EXPECT_EQ(event.observation, (Observation{kHuge, kHuge - 1, 0xfeedbeef}));
    EXPECT_EQ(event.syscall, 202);
    EXPECT_THAT(event.user_frames, ElementsAre(21));
  }
}

TEST(ObservedDecoderTest, OnlySamplesOffTheCpuAreObserved) {
  for (const auto kind : {PROFD_EVENT_ON_CPU, PROFD_EVENT_SNAPSHOT})
    EXPECT_THAT(ErrorOf(RawEventBytes(kind, Observed(), RawNumbers({21}))),
                ::testing::HasSubstr("observed, but not off the CPU"));
  profd_sample_event timeless = Observed();
  timeless.event.time_ns = 0;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_OFF_CPU, timeless, RawNumbers({21}))),
            "off-CPU sample event: observed at no time");
}

TEST(ObservedDecoderTest, OtherSamplesAndClocksAreNot) {
  profd_sample_event fixed = Observed();
  fixed.event.flags = 31 << PROFD_SAMPLE_HALVINGS_SHIFT;
  fixed.begin_ns = fixed.runnable_ns = 1'000;
  EXPECT_FALSE(
      Decoded<StackEvent>(RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, RawNumbers({21}))).observation);
  EXPECT_FALSE(Decoded<ClockEvent>(RawEventBytes(PROFD_EVENT_CLOCK, Clock())).observation);
}

TEST(ObservedDecoderTest, AClockHasTheTotalAndNoBeginOfItsState) {
  profd_clock_event fixed = Clock();
  fixed.event.flags = PROFD_CLOCK_OBSERVED;
  for (const auto kind : {PROFD_EVENT_CLOCK, PROFD_EVENT_THREAD_END}) {
    const auto clock = Decoded<ClockEvent>(RawEventBytes(kind, fixed));
    EXPECT_EQ(clock.since_ns, 0u);
    EXPECT_EQ(clock.state, PROFD_STATE_BLOCKED);
    EXPECT_EQ(clock.observation, (Observation{.held_ns = kHuge, .stack_number = 7}));
  }
}

TEST(ObservedDecoderTest, ASessionMayBeOfThisMode) {
  profd_session_event fixed{};
  fixed.event = RawHeader(11);
  fixed.mode = PROFD_SESSION_OFF_CPU | PROFD_SESSION_BACKGROUND | PROFD_SESSION_OBSERVED;
  fixed.hook = PROFD_HOOK_NONE;
  EXPECT_EQ(Decoded<SessionEvent>(RawEventBytes(PROFD_EVENT_SESSION_START, fixed)).mode,
            fixed.mode);
  fixed.mode = PROFD_SESSION_OBSERVED;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_SESSION_START, fixed)),
            "session start event: unknown mode");
  fixed.mode = PROFD_SESSION_OFF_CPU | PROFD_SESSION_COUNTERS_REFUSED << 1;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_SESSION_START, fixed)),
            "session start event: unknown mode");
}

}  // namespace
}  // namespace profd::wire
