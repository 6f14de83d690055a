// What stands after the frames of a stack, and what is said of them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "daemon/wire/decoder.h"
#include "tests/support/raw_events.h"
#include "tests/unit/wire/error_of.h"

namespace profd::wire {
namespace {

using test::EventBytes;
using test::RawEventBytes;
using test::RawHeader;
using test::RawNumbers;
using test::RawPackedSample;

wire::StackEvent DecodedStack(const EventBytes& bytes) {
  auto event = wire::DecodeEvent({bytes});
  EXPECT_TRUE(event) << event.error().message;
  return event ? std::get<wire::StackEvent>(*std::move(event)) : wire::StackEvent{};
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

// begin_ns; the word with the numbers of frames; the last one.
constexpr std::uint32_t kKept = 1u << 0 | 1u << 8 | 1u << 10;

TEST(StackTailTest, PackedWordsAreDifferencesOrWhole) {
  const std::vector<std::uint64_t> words = {
      1'000,
      std::uint64_t{2} << 32 | std::uint64_t{4} << 48,  // frames of the kernel and of the user
      PROFD_ALL_CERTAIN | std::uint64_t{1} << 16 | std::uint64_t{3} << 32,
  };
  const std::vector<std::uint16_t> units = {
      0x2b3f, 0x091a, 0xfffc, 0xffff,  // 0xffffffff81234567 << 3 | 7: of the kernel
      0x7fc1,                          // ((1 << 13) - 16) << 2 | 1: 16 below it
      0xc4d6, 0xa2b3, 0xf891, 0x0003,  // 0x7f123456789a << 3 | 6: of a program
      0xfffa, 0xffff,                  // ((1 << 29) - 1) << 3 | 2: as far above it as two reach
      0xc4d7, 0xa2b3, 0xf891, 0x0003,  // PROFD_FRAME_EXACT
      0x0002, 0x0000,                  // from the second as far below as two reach
      0x8006, 0x0000, 0xffe0, 0x000b,  // the CFA 0x7ffc00001000 of frame 1
      0x8006, 0x0000, 0xf802, 0x0003,  // the code object 0x7f0040001000
      0xbeef, 0xdead, 0x0020,          // its validator, and the instruction 0x10
      0x8207, 0x0000, 0xffe0, 0x0003,  // the anchor 0x7ffc00001040
  };
  const auto event = DecodedStack(RawPackedSample(PROFD_EVENT_OFF_CPU, kKept, words, units));
  EXPECT_EQ(event.begin_ns, 1'000u);
  EXPECT_EQ(event.period_ns, 0u);
  EXPECT_EQ(event.kernel_frames,
            (std::vector<std::uint64_t>{0xffff'ffff'8123'4567, 0xffff'ffff'8123'4557}));
  EXPECT_EQ(event.user_frames,
            (std::vector<std::uint64_t>{0x7f12'3456'789a, 0x7f12'4456'7899,
                                        PROFD_FRAME_EXACT | 0x7f12'3456'789a, 0x7f12'3456'7899}));
  ASSERT_EQ(event.cfas.size(), 1u);
  EXPECT_EQ(event.cfas[0].frame, 1);
  EXPECT_EQ(event.cfas[0].cfa, 0x7ffc'0000'1000u);
  ASSERT_EQ(event.python.size(), 2u);
  EXPECT_EQ(event.python[0].address, 0x7f00'4000'1000u);
  EXPECT_EQ(event.python[0].validator, 0xdead'beefu);
  EXPECT_EQ(event.python[0].instruction, 0x10u);
  EXPECT_TRUE(event.python[1].anchor);
  EXPECT_EQ(event.python[1].address, 0x7ffc'0000'1040u);

  constexpr std::size_t kBeforePython = 4 + 1 + 4 + 2 + 4 + 2 + 4;
  for (std::size_t left = 0; left < units.size(); ++left) {
    const std::vector<std::uint16_t> some(units.begin(),
                                          units.begin() + static_cast<std::ptrdiff_t>(left));
    EXPECT_EQ(ErrorOf(RawPackedSample(PROFD_EVENT_OFF_CPU, kKept, words, some)),
              left < kBeforePython ? "off-CPU sample event: frames beyond its end"
                                   : "off-CPU sample event: Python frames beyond its end");
  }
}

TEST(StackTailTest, APackedFixedPartIsAllThere) {
  const std::vector<std::uint64_t> words = {1'000, 0, PROFD_ALL_CERTAIN};
  EXPECT_EQ(ErrorOf(RawPackedSample(PROFD_EVENT_OFF_CPU, kKept, words, {})), "decoded");
  for (std::size_t left = 0; left < words.size(); ++left) {
    const std::vector<std::uint64_t> some(words.begin(),
                                          words.begin() + static_cast<std::ptrdiff_t>(left));
    EXPECT_EQ(ErrorOf(RawPackedSample(PROFD_EVENT_OFF_CPU, kKept, some, {})),
              "off-CPU sample event: shorter than its fixed part");
  }
  const auto event = DecodedStack(RawPackedSample(PROFD_EVENT_OFF_CPU, 0, {}, {}));
  EXPECT_EQ(event.begin_ns, 0u) << "all may be left out";
  EXPECT_EQ(event.uncertain_from, 0);
}

}  // namespace
}  // namespace profd::wire
