#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

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

StackEvent Decoded(profd_event_kind kind, const profd_sample_event& fixed) {
  const EventBytes bytes = RawEventBytes(kind, fixed, RawNumbers({21}));
  Result<Event> event = DecodeEvent({bytes});
  EXPECT_TRUE(event) << event.error().message;
  return event ? std::get<StackEvent>(*std::move(event)) : StackEvent{};
}

profd_sample_event Waker() {
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.begin_ns = 4'000;
  fixed.wakee_start_ns = 77;
  fixed.wakee_tid = 12;
  fixed.foreign_sessions = 4;
  fixed.user_frames = 1;
  std::memcpy(fixed.comm, "worker", 7);
  return fixed;
}

TEST(WakerDecoderTest, SaysWhoEndsWhichWait) {
  const StackEvent event = Decoded(PROFD_EVENT_WAKER, Waker());
  EXPECT_EQ(event.origin, SampleOrigin::kWaker);
  const WakeUp expected{.wakee = {.tid = 12, .start_ns = 77},
                        .begin_ns = 4'000,
                        .comm = "worker",
                        .interrupt = false,
                        .foreign_sessions = 4};
  EXPECT_EQ(event.wake_up, expected);
  EXPECT_EQ(event.blocked_points, 0u);
  EXPECT_EQ(event.runnable_ns, 0u);
  // The name lies where other samples have arguments.
  EXPECT_THAT(event.syscall_args, ElementsAre(0, 0, 0));
  EXPECT_THAT(event.user_frames, ElementsAre(21));
}

TEST(WakerDecoderTest, AnInterruptIsNoThread) {
  profd_sample_event fixed = Waker();
  fixed.event.flags = PROFD_SAMPLE_INTERRUPT;
  EXPECT_TRUE(Decoded(PROFD_EVENT_WAKER, fixed).wake_up->interrupt);
}

TEST(WakerDecoderTest, ANameWithoutAnEndIsCut) {
  profd_sample_event fixed = Waker();
  std::memset(fixed.comm, 'x', sizeof(fixed.comm));
  EXPECT_EQ(Decoded(PROFD_EVENT_WAKER, fixed).wake_up->comm, std::string(PROFD_COMM_LEN, 'x'));
}

TEST(WakerDecoderTest, AWaitThatBeginsAfterItsEndIsCorrupt) {
  profd_sample_event fixed = Waker();
  fixed.begin_ns = 5'001;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_WAKER, fixed, RawNumbers({21}))),
            "waker event: ends before it begins");
}

TEST(WakerDecoderTest, SamplesSayForWhomTheThreadIsFollowed) {
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.event.sessions = 6;
  fixed.begin_ns = 4'000;
  fixed.blocked_points = 2;
  fixed.followed_sessions = 12;
  fixed.number = 9;
  fixed.user_frames = 1;
  const StackEvent event = Decoded(PROFD_EVENT_OFF_CPU, fixed);
  EXPECT_EQ(event.followed_sessions, 4u);  // of the event's sessions
  EXPECT_EQ(event.number, 9u);
  EXPECT_FALSE(event.wake_up);
}

TEST(WakerDecoderTest, ASnapshotHasTheWordsOfItsFutexAndNoPoints) {
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.begin_ns = 4'000;
  fixed.futex_word = 2;
  fixed.futex_owner = 4711;
  fixed.user_frames = 1;
  const StackEvent event = Decoded(PROFD_EVENT_SNAPSHOT, fixed);
  EXPECT_EQ(event.futex_word, 2u);
  EXPECT_EQ(event.futex_owner, 4711u);
  EXPECT_EQ(event.blocked_points, 0u);
  EXPECT_EQ(event.runnable_points, 0u);
}

TEST(WakerDecoderTest, AClockHasTheNumberOfTheLastSample) {
  profd_clock_event fixed{};
  fixed.event = RawHeader(12);
  fixed.number = 33;
  const EventBytes bytes = RawEventBytes(PROFD_EVENT_CLOCK, fixed);
  const Result<Event> event = DecodeEvent({bytes});
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<ClockEvent>(*event).number, 33u);
}

}  // namespace
}  // namespace profd::wire
