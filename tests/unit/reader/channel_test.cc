#include "daemon/reader/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace profd::reader {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class ChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pair = Channel::MakePair();
    ASSERT_TRUE(pair);
    a_ = std::move(pair->first);
    b_ = std::move(pair->second);
  }
  static Channel::Time Soon() { return steady_clock::now() + std::chrono::seconds(60); }
  static Channel::Time Now() { return steady_clock::now(); }

  Channel a_;
  Channel b_;
};

TEST_F(ChannelTest, MessagesArriveWholeAndInOrder) {
  ASSERT_TRUE(a_.Send(1, "one", Soon()));
  ASSERT_TRUE(a_.Send(2, "", Soon()));
  const auto first = b_.Receive(100, Soon());
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->kind, 1u);
  EXPECT_EQ((*first)->body, "one");
  const auto second = b_.Receive(100, Soon());
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->kind, 2u);
  EXPECT_EQ((*second)->body, "");
}

TEST_F(ChannelTest, AMessageLargerThanTheSocketArrives) {
  const std::string large(5u << 20, 'x');
  std::jthread sender([&] { EXPECT_TRUE(a_.Send(1, large, Soon())); });
  const auto got = b_.Receive(large.size(), Soon());
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->body, large);
}

TEST_F(ChannelTest, AMessageThatComesInPiecesIsContinued) {
  const std::string large(1u << 20, 'x');
  // It is not received: only a part fits into the socket until the deadline.
  EXPECT_FALSE(a_.Send(1, large, Now()));
  const auto got = b_.Receive(large.size(), Now());
  ASSERT_TRUE(got);
  EXPECT_FALSE(*got);
}

TEST_F(ChannelTest, WithoutAMessageTheDeadlineEndsTheWait) {
  const auto got = b_.Receive(100, Now() + milliseconds(1));
  ASSERT_TRUE(got);
  EXPECT_FALSE(*got);
}

TEST_F(ChannelTest, AnEndOfTheOtherSideIsUnavailable) {
  a_.Close();
  const auto got = b_.Receive(100, Soon());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(b_.Send(1, "x", Soon()));
}

TEST_F(ChannelTest, ABodyBeyondTheBoundIsRefusedBeforeItComes) {
  ASSERT_TRUE(a_.Send(1, std::string(101, 'x'), Soon()));
  const auto got = b_.Receive(100, Soon());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kCorrupt);
}

TEST_F(ChannelTest, BytesThatAreNoMessageAreCorrupt) {
  const std::string noise(64, 'n');
  ASSERT_EQ(::send(a_.fd(), noise.data(), noise.size(), 0), static_cast<ssize_t>(noise.size()));
  const auto got = b_.Receive(100, Soon());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kCorrupt);
}

TEST_F(ChannelTest, ADescriptorComesWithItsMessage) {
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = file.get();
  ASSERT_TRUE(a_.Send(1, "x", Soon(), std::span(&number, 1)));
  const auto got = b_.Receive(100, Soon());
  ASSERT_TRUE(got && *got);
  ASSERT_EQ((*got)->descriptors.size(), 1u);
  EXPECT_NE((*got)->descriptors[0].get(), number);
  EXPECT_EQ(::fcntl((*got)->descriptors[0].get(), F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace profd::reader
