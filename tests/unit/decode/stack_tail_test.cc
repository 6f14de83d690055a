// What stands after the frames of a stack, and what is said of them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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
  EXPECT_EQ(error_of(0, frame), "off-CPU sample event: frames beyond its end");
  fixed.cfas = 0;
  fixed.uncertain_from = 4;
  EXPECT_EQ(error_of(0, frame), "off-CPU sample event: uncertain beyond its frames");
  fixed.uncertain_from = PROFD_ALL_CERTAIN;
  EXPECT_EQ(error_of(0, frame), "decoded");
}

std::string Pieces(const std::vector<std::uint32_t>& pieces) {
  return {reinterpret_cast<const char*>(pieces.data()), pieces.size() * sizeof(std::uint32_t)};
}

TEST(StackTailTest, PackedWordsAreDifferencesOrWhole) {
  profd_sample_event fixed = OffCpuFixed();
  fixed.event.flags = PROFD_SAMPLE_PACKED;
  fixed.cfas = 1;
  const std::vector<std::uint32_t> pieces = {
      0xffff'ffff, 0x8123'4567,  // of the kernel: bits 63 and 61 are set, so 62 is
      0x3fff'fff0,               // 16 below it
      0x8000'7f12, 0x3456'789a,  // of a program
      0x7fff'ffff,               // as far above it as one piece reaches
      0xc000'7f12, 0x3456'789a,  // PROFD_FRAME_EXACT
      0x8001'7ffc, 0x0000'1000,  // the CFA of its frame 1
  };
  const auto bytes = RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, Pieces(pieces));
  const auto event = DecodedStack(bytes);
  EXPECT_EQ(event.kernel_frames,
            (std::vector<std::uint64_t>{0xffff'ffff'8123'4567, 0xffff'ffff'8123'4557}));
  EXPECT_EQ(event.user_frames, (std::vector<std::uint64_t>{0x7f12'3456'789a, 0x7f12'7456'7899,
                                                           PROFD_FRAME_EXACT | 0x7f12'3456'789a}));
  ASSERT_EQ(event.cfas.size(), 1u);
  EXPECT_EQ(event.cfas[0].frame, 1);
  EXPECT_EQ(event.cfas[0].cfa, 0x7ffc'0000'1000u);

  for (std::size_t left = 0; left < pieces.size(); ++left) {
    const std::vector<std::uint32_t> some(pieces.begin(),
                                          pieces.begin() + static_cast<std::ptrdiff_t>(left));
    EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, Pieces(some))),
              "off-CPU sample event: frames beyond its end");
  }
}

}  // namespace
}  // namespace profd::decode
