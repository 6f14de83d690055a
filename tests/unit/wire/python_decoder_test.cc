// The Python part of stacks, and the events that explain it; also damaged.
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

TEST(PythonDecoderTest, FramesAndAnchorsOfAStack) {
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.user_frames = 1;
  fixed.python_words = 5;
  fixed.python_flags = PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD;
  const auto bytes = [&](std::uint64_t last) {
    return RawEventBytes(PROFD_EVENT_ON_CPU, fixed,
                         RawNumbers({21, 0x5000, std::uint64_t{7} << 32 | 12,
                                     PROFD_PYTHON_ANCHOR | 0x7ffc10, 0x6000, last}));
  };
  auto event = wire::DecodeEvent({bytes(std::uint64_t{8} << 32 | 2)});
  ASSERT_TRUE(event) << event.error().message;
  const auto& stack = std::get<wire::StackEvent>(*event);
  EXPECT_EQ(stack.python_flags, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
  ASSERT_EQ(stack.python.size(), 3u);
  EXPECT_EQ(stack.python[0].address, 0x5000u);
  EXPECT_EQ(stack.python[0].validator, 7u);
  EXPECT_EQ(stack.python[0].instruction, 12u);
  EXPECT_TRUE(stack.python[1].anchor);
  EXPECT_EQ(stack.python[1].address, 0x7ffc10u);
  EXPECT_EQ(stack.python[2].address, 0x6000u);

  fixed.python_words = 4;
  EXPECT_EQ(ErrorOf(bytes(0)), "on-CPU sample event: Python frames beyond its end") << "half a one";
  fixed.python_words = 6;
  EXPECT_EQ(ErrorOf(bytes(0)), "on-CPU sample event: Python frames beyond its end");
  fixed.python_words = PROFD_MAX_PYTHON_WORDS + 1;
  EXPECT_EQ(ErrorOf(bytes(0)), "on-CPU sample event: Python frames beyond its end");
}

TEST(PythonDecoderTest, FramesOfSeveralRuntimes) {
  constexpr std::uint64_t kNext = PROFD_PYTHON_ANCHOR | PROFD_PYTHON_RUNTIME;
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  const auto decode = [&](std::vector<std::uint64_t> words) {
    fixed.python_words = static_cast<std::uint16_t>(words.size());
    return wire::DecodeEvent({RawEventBytes(PROFD_EVENT_ON_CPU, fixed, RawNumbers(words))});
  };
  const auto event =
      decode({0x5000, 7, kNext | 1, PROFD_PYTHON_ANCHOR | 0x7ffc10, kNext | 3, 0x6000, 8});
  ASSERT_TRUE(event) << event.error().message;
  const auto& python = std::get<wire::StackEvent>(*event).python;
  ASSERT_EQ(python.size(), 3u);
  EXPECT_EQ(python[0].runtime, 0u);
  EXPECT_EQ(python[1].runtime, 1u);
  EXPECT_TRUE(python[1].anchor);
  EXPECT_EQ(python[2].runtime, 3u);
  EXPECT_EQ(python[2].address, 0x6000u);
  EXPECT_TRUE(decode({kNext | 1})) << "nothing was kept of it";
  EXPECT_FALSE(decode({kNext | PROFD_MAX_PYTHON_RUNTIMES}));
  EXPECT_FALSE(decode({kNext | 2, kNext | 1})) << "they come in order";
  EXPECT_FALSE(decode({0x5000, 7, kNext | 0}));
}

TEST(PythonDecoderTest, AnInterpreterAndWhyItIsNotUnderstood) {
  profd_python_process_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.version = 0x030b07f0;
  fixed.chain = PROFD_PYTHON_ENTRY_FLAGS;
  fixed.gil_begin = 0x100;
  fixed.gil_end = 0x200;
  fixed.reason_bytes = 4;
  const auto event = wire::DecodeEvent({RawEventBytes(PROFD_EVENT_PYTHON_PROCESS, fixed, "text")});
  ASSERT_TRUE(event) << event.error().message;
  const auto& process = std::get<wire::PythonProcessEvent>(*event);
  EXPECT_EQ(process.version, 0x030b07f0u);
  EXPECT_EQ(process.chain, PROFD_PYTHON_ENTRY_FLAGS);
  EXPECT_TRUE(process.gil.Contains(0x1ff));
  EXPECT_FALSE(process.gil.Contains(0x200));
  EXPECT_EQ(process.reason, "text");
  EXPECT_EQ(process.runtime, 0u);
  fixed.runtime = 3;
  EXPECT_EQ(std::get<wire::PythonProcessEvent>(
                *wire::DecodeEvent({RawEventBytes(PROFD_EVENT_PYTHON_PROCESS, fixed, "text")}))
                .runtime,
            3u);
  fixed.runtime = PROFD_MAX_PYTHON_RUNTIMES;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_PYTHON_PROCESS, fixed, "text")),
            "Python process event: more runtimes than there may be");
  fixed.runtime = 0;

  fixed.reason_bytes = 400;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_PYTHON_PROCESS, fixed, "text")),
            "Python process event: text beyond its end");
  fixed.chain = 99;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_PYTHON_PROCESS, fixed, "text")),
            "Python process event: unknown kind of frames");
}

TEST(PythonDecoderTest, TheTextsOfACodeObject) {
  profd_python_code_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.code = 0x5000;
  fixed.validator = 9;
  fixed.first_line = -1;
  fixed.runtime = 2;
  fixed.text_bytes[PROFD_PYTHON_NAME] = 1;
  fixed.text_bytes[PROFD_PYTHON_QUALNAME] = 3;
  fixed.text_bytes[PROFD_PYTHON_FILE] = 4;
  fixed.text_bytes[PROFD_PYTHON_LINES] = 2;
  const auto event =
      wire::DecodeEvent({RawEventBytes(PROFD_EVENT_PYTHON_CODE, fixed, "fA.fx.py\x01\x02")});
  ASSERT_TRUE(event) << event.error().message;
  const auto& code = std::get<wire::PythonCodeEvent>(*event);
  EXPECT_EQ(code.name, "f");
  EXPECT_EQ(code.qualname, "A.f");
  EXPECT_EQ(code.file, "x.py");
  EXPECT_EQ(code.lines, "\x01\x02");
  EXPECT_EQ(code.first_line, -1);
  EXPECT_EQ(code.runtime, 2u);
  EXPECT_FALSE(code.stale);
  fixed.text_bytes[PROFD_PYTHON_LINES] = 300;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_PYTHON_CODE, fixed, "fA.fx.py\x01\x02")),
            "Python code event: text beyond its end");
}

TEST(PythonDecoderTest, DamageIsCountedByKindUpToTheLastOne) {
  wire::Decoder decoder;
  struct {
    profd_event event = RawHeader(5'000);
  } header;
  for (const auto kind : {PROFD_EVENT_PYTHON_PROCESS, PROFD_EVENT_PYTHON_CODE, PROFD_EVENT_PERIODS,
                          PROFD_EVENT_BEYOND_SHARE, PROFD_EVENT_LABEL_PROCESS}) {
    const EventBytes cut = RawEventBytes(kind, header);
    EXPECT_FALSE(decoder.Decode({cut}));
    EXPECT_EQ(decoder.Counters().corrupt.at(kind), 1u) << kind;
  }
  EXPECT_EQ(decoder.Counters().Rejected(), 5u);
}

}  // namespace
}  // namespace profd::wire
