// What the programs pack the decoder unpacks.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bpf/shared/python_layout.h"
#include "daemon/wire/decoder.h"
#include "daemon/wire/event_bytes.h"
#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

using Words = std::vector<std::uint64_t>;

class PackTest : public testing::Test {
 protected:
  PackTest() { fixed_.uncertain_from = PROFD_ALL_CERTAIN; }

  // Packs what is given; returns what the decoder makes of it.
  wire::StackEvent Through(const Words& kernel, const Words& user, const Words& cfas,
                           const Words& python) {
    std::vector<std::uint64_t> buffer(sizeof(profd_sample_event) / sizeof(std::uint64_t));
    for (const Words* words : {&kernel, &user, &cfas, &python})
      buffer.insert(buffer.end(), words->begin(), words->end());
    auto* event = reinterpret_cast<profd_sample_event*>(buffer.data());
    *event = fixed_;
    event->event.kind = PROFD_EVENT_OFF_CPU;
    event->kernel_frames = static_cast<__u16>(kernel.size());
    event->user_frames = static_cast<__u16>(user.size());
    event->cfas = static_cast<__u16>(cfas.size());
    event->python_words = static_cast<__u16>(python.size());
    event->label_bytes = static_cast<__u16>(labels_.size());
    if (counts_) {
      event->event.kind = PROFD_EVENT_ON_CPU;
      event->event.flags |= PROFD_SAMPLE_COUNTED;
    }
    buffer.resize(buffer.size() +
                  (PROFD_MAX_LABEL_BYTES + sizeof(profd_pmu_counts)) / sizeof(std::uint64_t));
    event = reinterpret_cast<profd_sample_event*>(buffer.data());
    const auto bytes =
        std::as_bytes(std::span(buffer))
            .first(user_finish_sample(event, labels_.data(), counts_ ? &*counts_ : nullptr));
    EXPECT_EQ(event->event.size, bytes.size());
    std::span<const std::byte> tail;
    profd_sample_event read{};
    EXPECT_TRUE(wire::ReadSample(bytes, &read, &tail));
    units_ = (tail.size() - labels_.size()) / sizeof(std::uint16_t);
    bytes_ = bytes.size();
    auto decoded = wire::DecodeEvent({bytes});
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded ? std::get<wire::StackEvent>(*decoded) : wire::StackEvent{};
  }

  std::size_t units_ = 0;  // of the tail
  std::size_t bytes_ = 0;  // of all of it
  std::string labels_;
  std::optional<profd_pmu_counts> counts_;
  profd_sample_event fixed_{};  // last: it has a tail
};

constexpr std::uint64_t kKernelText = 0xffff'ffff'8100'0000;
constexpr std::uint64_t kLibrary = 0x7f31'2200'0000;
constexpr std::uint64_t kProgram = 0x5581'0000'0000;
constexpr std::uint64_t kStack = 0x7ffc'0000'1000;
constexpr std::uint64_t kCfaStep = std::uint64_t{1} << PROFD_CFA_INDEX_SHIFT;

TEST_F(PackTest, CountsStandBeforeLabels) {
  const Words kernel{kKernelText + 0x500, kKernelText + 0x9000};
  const Words user{kLibrary + 0x100, kProgram};
  for (const std::string& labels : {std::string(), std::string("a record of labels")}) {
    labels_ = labels;
    counts_.reset();
    const auto plain = Through(kernel, user, {}, {});
    const std::size_t plain_bytes = bytes_;
    EXPECT_FALSE(plain.counts);
    counts_ = profd_pmu_counts{.counted_ns = 1, .counts = {2, ~std::uint64_t{0}, 4}};
    const auto counted = Through(kernel, user, {}, {});
    EXPECT_EQ(bytes_, plain_bytes + sizeof(profd_pmu_counts));
    ASSERT_TRUE(counted.counts);
    EXPECT_EQ(counted.counts->counted_ns, 1u);
    EXPECT_EQ(counted.counts->counts[PROFD_PMU_CYCLES], 2u);
    EXPECT_EQ(counted.counts->counts[PROFD_PMU_INSTRUCTIONS], ~std::uint64_t{0});
    EXPECT_EQ(counted.counts->counts[PROFD_PMU_CACHE_MISSES], 4u);
    EXPECT_EQ(counted.labels, labels);
    EXPECT_EQ(counted.user_frames, user);
  }
}

TEST_F(PackTest, FramesOfOneFileTakeHalfOfTheirBytesOrLess) {
  const Words kernel{kKernelText + 0x500, kKernelText + 0x9000, kKernelText + 0x7040};
  const Words user{kLibrary + 0x100, kLibrary + 0x90'0000, kProgram, kProgram + 0x30};
  const auto event = Through(kernel, user, {}, {});
  EXPECT_EQ(event.kernel_frames, kernel);
  EXPECT_EQ(event.user_frames, user);
  EXPECT_EQ(units_, (4 + 2 + 1) + (4 + 2) + (4 + 1)) << "the first of each file is whole";
}

// The largest and the smallest difference of one unit and of two, and one beyond each.
TEST_F(PackTest, DifferencesAtTheEndsOfTheirRanges) {
  for (const bool exact : {false, true}) {
    for (const auto& [bits, units] : {std::pair(PROFD_UNIT_BITS, 1), {PROFD_TWO_UNITS_BITS, 2}}) {
      const std::int64_t half = std::int64_t{1} << (bits - 1);
      for (const std::int64_t difference : {-half - 1, -half, half - 1, half}) {
        Words user{kProgram, kProgram + static_cast<std::uint64_t>(difference)};
        if (exact)
          for (auto& frame : user) frame |= PROFD_FRAME_EXACT;
        EXPECT_EQ(Through({}, user, {}, {}).user_frames, user) << difference;
        const bool fits = difference >= -half && difference < half;
        EXPECT_EQ(units_, 4u + (fits ? units : 2 * units)) << difference;
      }
    }
  }
}

TEST_F(PackTest, AFrameWithBit63DoesNotPartThoseAroundIt) {
  const Words user{kLibrary, kLibrary + 8, PROFD_FRAME_EXACT | kProgram, kLibrary + 16};
  EXPECT_EQ(Through({}, user, {}, {}).user_frames, user);
  EXPECT_EQ(units_, 4u + 1 + 4 + 1);
}

TEST_F(PackTest, CfasOfFrameAfterFrameTakeAUnitEach) {
  const Words user{kLibrary, kLibrary + 8, kLibrary + 16, kLibrary + 24};
  const Words cfas{kCfaStep | kStack, 2 * kCfaStep | (kStack + 0x100),
                   3 * kCfaStep | (kStack + 0x1f00)};
  const auto event = Through({}, user, cfas, {});
  ASSERT_EQ(event.cfas.size(), 3u);
  EXPECT_EQ(event.cfas[0].frame, 1);
  EXPECT_EQ(event.cfas[2].frame, 3);
  EXPECT_EQ(event.cfas[1].cfa, kStack + 0x100);
  EXPECT_EQ(event.cfas[2].cfa, kStack + 0x1f00);
  EXPECT_EQ(units_, (4 + 3) + (4 + 1 + 1));
}

TEST_F(PackTest, LabelsStandBehindAllElseAsTheyAre) {
  for (const std::size_t bytes : {28, 29, 63, PROFD_MAX_LABEL_BYTES}) {
    labels_.assign(bytes, 'x');
    labels_.back() = 'y';
    const auto event =
        Through({kKernelText}, {kLibrary, kLibrary + 8}, {kStack}, {PROFD_PYTHON_ANCHOR | kStack});
    EXPECT_EQ(event.labels, labels_);
    EXPECT_EQ(event.user_frames.size(), 2u);
    EXPECT_EQ(event.python.size(), 1u);
  }
}

TEST_F(PackTest, ThePythonPart) {
  constexpr std::uint64_t kHeap = 0x7f00'0000'1000;
  constexpr std::uint64_t kNext = PROFD_PYTHON_ANCHOR | PROFD_PYTHON_RUNTIME;
  const auto frame = [](std::uint64_t validator, std::uint64_t instruction) {
    return validator << 32 | instruction;
  };
  const Words python{kHeap,          frame(0xdead'beef, 0x7fff),
                     kHeap + 0x4000, frame(0xffff'ffff, 0x8000),
                     kHeap + 0x8000, frame(0, PROFD_PYTHON_NO_INSTRUCTION),
                     kHeap + 0xc000, frame(7, 0x7fff'fffe),
                     kNext | 1,      PROFD_PYTHON_ANCHOR | kStack,
                     kNext | 3,      kHeap + 0x4000,
                     frame(3, 0)};
  const auto event = Through({}, {kLibrary}, {kStack}, python);
  ASSERT_EQ(event.python.size(), 6u);
  const auto expect = [&](std::size_t index, std::uint64_t code, std::uint32_t validator,
                          std::uint32_t instruction, std::uint32_t runtime) {
    EXPECT_EQ(event.python[index].address, code) << index;
    EXPECT_EQ(event.python[index].validator, validator) << index;
    EXPECT_EQ(event.python[index].instruction, instruction) << index;
    EXPECT_EQ(event.python[index].runtime, runtime) << index;
    EXPECT_FALSE(event.python[index].anchor) << index;
  };
  expect(0, kHeap, 0xdead'beef, 0x7fff, 0);
  expect(1, kHeap + 0x4000, 0xffff'ffff, 0x8000, 0);
  expect(2, kHeap + 0x8000, 0, PROFD_PYTHON_NO_INSTRUCTION, 0);
  expect(3, kHeap + 0xc000, 7, 0x7fff'fffe, 0);
  EXPECT_TRUE(event.python[4].anchor);
  EXPECT_EQ(event.python[4].address, kStack);
  EXPECT_EQ(event.python[4].runtime, 1u);
  expect(5, kHeap + 0x4000, 3, 0, 3);
  EXPECT_EQ(units_, (4 + 4) + (4 + 3) + 3 * (2 + 4) + (4 + 4 + 4) + (2 + 3));
}

TEST_F(PackTest, WordsOfTheFixedPartThatAre0AreLeftOut) {
  Through({}, {}, {}, {});
  EXPECT_EQ(bytes_, sizeof(profd_event) + 8) << "uncertain_from alone is not 0";
  fixed_.event.time_ns = 900;
  fixed_.begin_ns = 100;
  fixed_.period_ns = 10;
  fixed_.syscall_args[2] = 5;
  fixed_.missing_stack_bytes = 77;
  fixed_.python_flags = PROFD_PYTHON_PROCESS;
  auto event = Through({}, {kProgram}, {}, {});
  EXPECT_EQ(bytes_, sizeof(profd_event) + 6 * 8 + 4 * 2);
  EXPECT_EQ(event.begin_ns, 100u);
  EXPECT_EQ(event.runnable_ns, 0u);
  EXPECT_EQ(event.period_ns, 10u);
  EXPECT_EQ(event.syscall_args[0], 0u);
  EXPECT_EQ(event.syscall_args[2], 5u);
  EXPECT_EQ(event.missing_stack_bytes, 77u);
  EXPECT_EQ(event.python_flags, PROFD_PYTHON_PROCESS);
  EXPECT_EQ(event.user_frames, Words{kProgram});
}

TEST_F(PackTest, WhateverTheAddressesThatStacksCanHave) {
  std::mt19937_64 random(20'251);
  for (int round = 0; round < 200; ++round) {
    const auto count = [&](std::size_t most) { return round == 0 ? most : random() % (most + 1); };
    const auto near_or_far = [&](std::uint64_t near) {
      return random() % 4 == 0 ? random() >> 17 : near + random() % (1u << random() % 28);
    };
    for (auto* word : {&fixed_.begin_ns, &fixed_.runnable_ns})
      *word = random() % 2 == 0 ? 0 : random() >> 2;
    fixed_.event.time_ns = ~std::uint64_t{0} >> 1;
    Words kernel(count(PROFD_MAX_KERNEL_FRAMES));
    for (auto& frame : kernel) frame = near_or_far(kKernelText) | ~0ull << 47;
    Words user(count(PROFD_MAX_USER_FRAMES));
    for (auto& frame : user)
      frame = near_or_far(kLibrary) | (random() % 16 == 0 ? PROFD_FRAME_EXACT : 0);
    Words cfas;
    for (std::size_t i = 0; i < user.size(); ++i)
      if (round == 0 || random() % 4 != 0) cfas.push_back(i * kCfaStep | near_or_far(kStack));
    Words python;
    for (std::size_t left = count(PROFD_MAX_PYTHON_WORDS / 3); left > 0; --left) {
      python.push_back(near_or_far(kLibrary));
      python.push_back(random() << 32 | random() % (1u << random() % 31));
      if (round == 0 || random() % 2 == 0)
        python.push_back(PROFD_PYTHON_ANCHOR | near_or_far(kStack));
    }
    const auto event = Through(kernel, user, cfas, python);
    ASSERT_EQ(event.kernel_frames, kernel);
    ASSERT_EQ(event.user_frames, user);
    Words read;
    for (const auto& cfa : event.cfas) read.push_back(cfa.frame * kCfaStep | cfa.cfa);
    ASSERT_EQ(read, cfas);
    read.clear();
    for (const auto& frame : event.python) {
      read.push_back(frame.anchor ? frame.address | PROFD_PYTHON_ANCHOR : frame.address);
      if (!frame.anchor) read.push_back(std::uint64_t{frame.validator} << 32 | frame.instruction);
    }
    ASSERT_EQ(read, python);
    ASSERT_EQ(event.begin_ns, fixed_.begin_ns);
    ASSERT_EQ(event.runnable_ns, fixed_.runnable_ns);
  }
}

}  // namespace
}  // namespace profd
