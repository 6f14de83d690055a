#include "daemon/store/codec/window_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>

#include "daemon/aggregate/profile.h"

namespace profd::store {
namespace {

using aggregate::Profile;
using aggregate::ProfileThread;

constexpr std::uint64_t kStartNs = 5'000'000'000;
constexpr std::uint64_t kEndNs = 15'000'000'000;

ProfileThread Thread(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t on_cpu_ns,
                     std::uint64_t blocked_ns) {
  ProfileThread thread;
  thread.begin_ns = begin_ns;
  thread.end_ns = end_ns;
  thread.clock.on_cpu_ns = on_cpu_ns;
  thread.clock.on_cpu_count = on_cpu_ns == 0 ? 0 : 3;
  thread.clock.blocked_ns[PROFD_INTERRUPTIBLE] = blocked_ns;
  return thread;
}

class WindowCodecTest : public ::testing::Test {
 protected:
  WindowCodecTest() {
    window_.start_ns = kStartNs;
    window_.end_ns = kEndNs;
    window_.processes.resize(1);
  }
  void Add(const ProfileThread& thread) { window_.threads.push_back(thread); }
  [[nodiscard]] EncodedWindow Encode() const {
    WindowNumbers numbers;
    numbers.process_of = {1};
    for (std::size_t i = 0; i < window_.threads.size(); ++i)
      numbers.thread_of.push_back(static_cast<std::uint32_t>(10 + i));
    auto bytes = EncodeWindow(window_, numbers, 3);
    EXPECT_TRUE(bytes.ok());
    return bytes ? *std::move(bytes) : EncodedWindow();
  }
  static Result<StoredWindow> Decode(
      const EncodedWindow& encoded,
      const WantsThread& wants = [](const StoredThread&) { return true; }) {
    EncodedBytes bytes{.data = std::as_bytes(std::span(encoded.data)), .paths = std::nullopt};
    if (encoded.paths) bytes.paths = std::as_bytes(std::span(*encoded.paths));
    return DecodeWindow(bytes, kStartNs, kEndNs, wants);
  }
  void ExpectTheSameAgain() const {
    const auto read = Decode(Encode());
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->threads.size(), window_.threads.size());
    for (std::size_t i = 0; i < window_.threads.size(); ++i) {
      const ProfileThread& there = read->threads[i].thread;
      const ProfileThread& thread = window_.threads[i];
      EXPECT_EQ(there.begin_ns, thread.begin_ns) << i;
      EXPECT_EQ(there.end_ns, thread.end_ns) << i;
      EXPECT_EQ(there.group_size, thread.group_size) << i;
      EXPECT_EQ(there.group_elapsed_ns, thread.group_elapsed_ns) << i;
      EXPECT_EQ(std::memcmp(&there.clock, &thread.clock, sizeof thread.clock), 0) << i;
    }
  }

  Profile window_;
};

TEST_F(WindowCodecTest, LivesAndClocksAreExactWhetherTheyCloseOrNot) {
  Add(Thread(kStartNs, kEndNs, 4'000'000'001, 5'999'999'999));
  Add(Thread(kStartNs, kEndNs, 4'000'000'001, 5'999'999'998));
  Add(Thread(kStartNs, kEndNs, 9, 0));
  Add(Thread(kStartNs + 7, kEndNs - 9, 2'000'000'000, 7'999'999'984));
  Add(Thread(kStartNs + 7, kEndNs - 9, 2'000'000'000, 0));
  Add(Thread(kStartNs, kEndNs, 0, 10'000'000'000));
  Add(Thread(kStartNs + 1, kEndNs, 0, 9'999'999'999));
  Add(Thread(kStartNs + 1, kStartNs + 1, 0, 0));
  Add(Thread(kStartNs, kEndNs, 0, 0));
  ExpectTheSameAgain();
}

TEST_F(WindowCodecTest, StolenTimeIsExact) {
  const auto add = [&](ProfileThread thread, std::uint64_t exact_ns, std::uint64_t spread_ns) {
    thread.clock.stolen_ns[PROFD_STOLEN_EXACT] = exact_ns;
    thread.clock.stolen_ns[PROFD_STOLEN_SPREAD] = spread_ns;
    Add(thread);
  };
  add(Thread(kStartNs, kEndNs, 4'000'000'000, 5'999'999'999), 1, 0);
  add(Thread(kStartNs + 7, kEndNs - 9, 2'000'000'000, 7'999'999'900), 0, 84);
  add(Thread(kStartNs + 7, kEndNs - 9, 2'000'000'000, 0), 3, 4);
  add(Thread(kStartNs, kEndNs, 0, 0), kEndNs - kStartNs, 0);
  add(Thread(kStartNs, kEndNs, 0, 10), 0, 12);
  Add(Thread(kStartNs, kEndNs, 0, 10'000'000'000));
  ProfileThread group = Thread(kStartNs + 7, kEndNs - 9, 70'000'000'000, 1);
  group.group_size = 412;
  group.group_elapsed_ns = 70'000'000'009;
  add(group, 8, 0);
  ExpectTheSameAgain();
}

TEST_F(WindowCodecTest, GroupsAreExactWhetherTheyCloseOrNot) {
  window_.processes[0].group_size = 400;
  for (const std::int64_t gap : {0, 1, -1, 5'000}) {
    ProfileThread group = Thread(kStartNs + 7, kEndNs - 9, 70'000'000'000, 8'000'000'001);
    group.group_size = 412;
    group.group_elapsed_ns = 78'000'000'001 + static_cast<std::uint64_t>(gap);
    Add(group);
  }
  ProfileThread idle = Thread(kStartNs, kEndNs, 0, 10'000'000'000);
  idle.group_size = 2;
  idle.group_elapsed_ns = 10'000'000'000;
  Add(idle);
  ExpectTheSameAgain();
  const auto read = Decode(Encode());
  ASSERT_TRUE(read.ok());
  for (const auto& thread : read->threads) EXPECT_EQ(thread.process_group_size, 400u);
}

TEST_F(WindowCodecTest, WhatFollowsFromAClockThatClosesTakesNoRoom) {
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const std::uint64_t busy_ns = 1'000'003 * (i * 7'919 % 1'009) + i;
    Add(Thread(kStartNs + i, kStartNs + i + busy_ns + 77, busy_ns, 77));
  }
  const std::size_t closed = Encode().data.size();
  for (auto& thread : window_.threads) thread.end_ns += 1;
  EXPECT_LT(closed + 3 * window_.threads.size(), Encode().data.size())
      << "ends that lie all over the window take three bytes at least";
}

// The rounding error of thread 11 is more than its samples weigh. So the encoder must begin again,
// without rounding, after it has added the samples of thread 10.
TEST_F(WindowCodecTest, WeightsThatAreTooSmallToRoundAreExact) {
  Add(Thread(kStartNs, kEndNs, 100'000, 0));
  Add(Thread(kStartNs, kEndNs, 30'000, 0));
  for (std::uint32_t i = 0; i < 4; ++i) {
    aggregate::ProfileSample sample;
    sample.thread = i / 2;
    sample.node = 40 + i;
    sample.time_ns = kStartNs;
    sample.raw_weight_ns = 65'536 + i;
    sample.weight_ns = i < 2 ? 50'000 : 1'000 + i;
    window_.samples.push_back(sample);
  }
  const auto read = Decode(Encode());
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->samples.size(), window_.samples.size());
  for (std::size_t i = 0; i < window_.samples.size(); ++i) {
    EXPECT_EQ(read->samples[i].thread, window_.samples[i].thread) << i;
    EXPECT_EQ(read->samples[i].node, window_.samples[i].node) << i;
    EXPECT_EQ(read->samples[i].raw_weight_ns, window_.samples[i].raw_weight_ns) << i;
    EXPECT_EQ(read->samples[i].weight_ns, window_.samples[i].weight_ns) << i;
  }
}

TEST_F(WindowCodecTest, EachWrongByteIsFoundOrHarmless) {
  Add(Thread(kStartNs, kEndNs, 4'000'000'001, 5'999'999'999));
  Add(Thread(kStartNs + 7, kEndNs - 9, 2'000'000'000, 7'999'999'984));
  Add(Thread(kStartNs + 7, kEndNs - 9, 2'000'000'000, 7'999'999'984));
  window_.threads.back().group_size = 3;
  const EncodedWindow bytes = Encode();
  for (std::size_t at = 0; at < bytes.data.size(); ++at) {
    for (const int bit : {1, 16, 64}) {
      EncodedWindow wrong = bytes;
      wrong.data[at] = static_cast<char>(wrong.data[at] ^ bit);
      const auto read = Decode(wrong);
      EXPECT_TRUE(read.ok() || read.error().code == ErrorCode::kCorrupt) << at;
    }
  }
}

}  // namespace
}  // namespace profd::store
