// What stands after the frames of a stack, and what is said of them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>

#include "daemon/decode/decoder.h"
#include "tests/support/raw_events.h"

namespace profd::decode {
namespace {

using test::EventBytes;
using test::RawEventBytes;
using test::RawHeader;
using test::RawNumbers;

StackEvent DecodedStack(const EventBytes& bytes) {
  auto event = DecodeEvent({bytes});
  EXPECT_TRUE(event) << event.error().message;
  return event ? std::get<StackEvent>(*std::move(event)) : StackEvent{};
}

std::string ErrorOf(const EventBytes& bytes) {
  const Result<Event> event = DecodeEvent({bytes});
  return event ? "decoded" : event.error().message;
}

profd_sample_event OffCpuFixed() {
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.begin_ns = 1'000;
  fixed.kernel_frames = 2;
  fixed.user_frames = 3;
  return fixed;
}

TEST(StackTailTest, WhereTheUserStackEndsAndWhereItsFramesLay) {
  profd_sample_event fixed = OffCpuFixed();
  fixed.missing_stack_bytes = 8'192;
  fixed.uncertain_from = 2;
  fixed.cfas = 2;
  const std::uint64_t third = (std::uint64_t{2} << PROFD_CFA_INDEX_SHIFT) | 0x7ffc00;
  const auto event = DecodedStack(
      RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, RawNumbers({11, 12, 21, 22, 23, 0x7ffb00, third})));
  EXPECT_EQ(event.missing_stack_bytes, 8'192u);
  EXPECT_EQ(event.uncertain_from, 2);
  ASSERT_EQ(event.cfas.size(), 2u);
  EXPECT_EQ(event.cfas[0].frame, 0);
  EXPECT_EQ(event.cfas[0].cfa, 0x7ffb00u);
  EXPECT_EQ(event.cfas[1].frame, 2);
  EXPECT_EQ(event.cfas[1].cfa, 0x7ffc00u);
}

TEST(StackTailTest, FrameAddressesThatCannotBeAreRejected) {
  profd_sample_event fixed = OffCpuFixed();
  fixed.cfas = 2;
  const auto error_of = [&](std::uint64_t first, std::uint64_t second) {
    return ErrorOf(
        RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, RawNumbers({11, 12, 21, 22, 23, first, second})));
  };
  const std::uint64_t frame = std::uint64_t{1} << PROFD_CFA_INDEX_SHIFT;
  EXPECT_EQ(error_of(0, frame), "decoded");
  EXPECT_EQ(error_of(frame, 0), "off-CPU sample event: frame addresses of no frame");
  EXPECT_EQ(error_of(frame, frame), "off-CPU sample event: frame addresses of no frame");
  EXPECT_EQ(error_of(0, 3 * frame), "off-CPU sample event: frame addresses of no frame");
  fixed.cfas = 3;
  EXPECT_EQ(error_of(0, frame), "off-CPU sample event: frame addresses beyond its end");
  fixed.cfas = 0;
  fixed.uncertain_from = 4;
  EXPECT_EQ(error_of(0, frame), "off-CPU sample event: uncertain beyond its frames");
  fixed.uncertain_from = PROFD_ALL_CERTAIN;
  EXPECT_EQ(error_of(0, frame), "decoded");
}

}  // namespace
}  // namespace profd::decode
