// What the programs pack the decoder unpacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <variant>
#include <vector>

#include "bpf/python_layout.h"
#include "daemon/decode/decoder.h"
#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

using Words = std::vector<std::uint64_t>;

class PackTest : public testing::Test {
 protected:
  // Packs what is given; returns what the decoder makes of it.
  decode::StackEvent Through(const Words& kernel, const Words& user, const Words& cfas,
                             const Words& python) {
    std::vector<std::uint64_t> buffer(sizeof(profd_sample_event) / sizeof(std::uint64_t));
    for (const Words* words : {&kernel, &user, &cfas, &python})
      buffer.insert(buffer.end(), words->begin(), words->end());
    auto* event = reinterpret_cast<profd_sample_event*>(buffer.data());
    event->event.kind = PROFD_EVENT_ON_CPU;
    event->uncertain_from = PROFD_ALL_CERTAIN;
    event->kernel_frames = static_cast<__u16>(kernel.size());
    event->user_frames = static_cast<__u16>(user.size());
    event->cfas = static_cast<__u16>(cfas.size());
    event->python_words = static_cast<__u16>(python.size());
    const auto bytes = std::as_bytes(std::span(buffer)).first(user_finish_sample(event));
    EXPECT_EQ(event->event.size, bytes.size());
    tail_bytes_ = bytes.size() - sizeof(*event);
    auto decoded = decode::DecodeEvent({bytes});
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded ? std::get<decode::StackEvent>(*decoded) : decode::StackEvent{};
  }

  std::uint64_t tail_bytes_ = 0;
};

constexpr std::uint64_t kKernelText = 0xffff'ffff'8100'0000;
constexpr std::uint64_t kLibrary = 0x7f31'2200'0000;
constexpr std::uint64_t kProgram = 0x5581'0000'0000;

TEST_F(PackTest, FramesOfOneFileTakeHalfOfTheirBytes) {
  const Words kernel{kKernelText + 0x500, kKernelText + 0x9000, kKernelText + 0x40};
  const Words user{kLibrary + 0x100, kLibrary + 0x90'0000, kProgram, kProgram + 0x30};
  const auto event = Through(kernel, user, {}, {});
  EXPECT_EQ(event.kernel_frames, kernel);
  EXPECT_EQ(event.user_frames, user);
  EXPECT_EQ(tail_bytes_, (7 + 3) * sizeof(std::uint32_t)) << "three are the first of their file";
}

TEST_F(PackTest, FarthestDifferencesOfOnePiece) {
  const Words user{kProgram, kProgram - PROFD_PIECE_RANGE, kProgram - 1, kProgram + 0x3fff'fffe,
                   kProgram + 0x7fff'fffe};
  EXPECT_EQ(Through({}, user, {}, {}).user_frames, user);
  EXPECT_EQ(tail_bytes_, (5 + 2) * sizeof(std::uint32_t)) << "the first and the last take two";
}

TEST_F(PackTest, ThePythonPartIsAsItWas) {
  const Words user{kLibrary, kLibrary + 8};
  const Words cfas{0x7ffc'0000'1000, std::uint64_t{1} << PROFD_CFA_INDEX_SHIFT | 0x7ffc'0000'1100};
  const Words python{0x7f00'0000'1000, 0xdead'beef'0000'0010,
                     PROFD_PYTHON_ANCHOR | 0x7ffc'0000'1040};
  const auto event = Through({}, user, cfas, python);
  ASSERT_EQ(event.cfas.size(), 2u);
  EXPECT_EQ(event.cfas[1].cfa, 0x7ffc'0000'1100u);
  ASSERT_EQ(event.python.size(), 2u);
  EXPECT_EQ(event.python[0].address, 0x7f00'0000'1000u);
  EXPECT_EQ(event.python[0].validator, 0xdead'beefu);
  EXPECT_EQ(event.python[0].instruction, 0x10u);
  EXPECT_TRUE(event.python[1].anchor);
  EXPECT_EQ(event.python[1].address, 0x7ffc'0000'1040u);
}

TEST_F(PackTest, WhateverTheAddressesThatStacksCanHave) {
  std::mt19937_64 random(20'251);
  for (int round = 0; round < 200; ++round) {
    const auto count = [&](std::size_t most) { return round == 0 ? most : random() % (most + 1); };
    Words kernel(count(PROFD_MAX_KERNEL_FRAMES));
    for (auto& frame : kernel)
      frame =
          random() % 4 == 0 ? random() >> 16 | ~0ull << 47 : kKernelText + random() % 0x100'0000;
    Words user(count(PROFD_MAX_USER_FRAMES));
    for (auto& frame : user) {
      frame = random() % 2 == 0 ? random() >> 17 : kLibrary + random() % 0x100'0000;
      if (random() % 16 == 0) frame |= PROFD_FRAME_EXACT;
    }
    Words cfas(user.size());
    for (std::size_t i = 0; i < cfas.size(); ++i)
      cfas[i] = std::uint64_t{i} << PROFD_CFA_INDEX_SHIFT | random() >> 17;
    const Words python(count(PROFD_MAX_PYTHON_WORDS / 2) * 2, 0x7123'4567'89ab'cdef);
    const auto event = Through(kernel, user, cfas, python);
    ASSERT_EQ(event.kernel_frames, kernel);
    ASSERT_EQ(event.user_frames, user);
    ASSERT_EQ(event.cfas.size(), cfas.size());
    for (std::size_t i = 0; i < cfas.size(); ++i)
      ASSERT_EQ(event.cfas[i].cfa, cfas[i] & ((std::uint64_t{1} << PROFD_CFA_INDEX_SHIFT) - 1));
    ASSERT_EQ(event.python.size(), python.size() / 2);
  }
}

}  // namespace
}  // namespace profd
