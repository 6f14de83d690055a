#include "daemon/pipeline/stage_queue.h"

#include <gtest/gtest.h>

#include <map>

#include "daemon/base/counter.h"

namespace profd::pipeline {

struct Item {
  bool may_be_dropped = true;
  std::uint32_t process = 1;
};
bool MayDrop(const Item& item) { return item.may_be_dropped; }
std::uint32_t ProcessOf(const Item& item) { return item.process; }

namespace {

constexpr auto kWhole = pipeline::BatchSender<Item>::kBatch;

class BatchSenderTest : public ::testing::Test {
 protected:
  void Add(std::size_t count, Item item = {}) {
    for (std::size_t i = 0; i < count; ++i) sender_.Add(Item(item));
  }
  std::size_t Waiting() {
    std::size_t items = 0;
    while (queue_.size() > 0) items += queue_.Pop()->items.size();
    return items;
  }

  static constexpr std::size_t kCapacity = 8;
  BoundedQueue<pipeline::Batch<Item>> queue_{kCapacity};
  Counter dropped_;
  pipeline::BatchSender<Item> sender_{queue_, dropped_};
};

TEST_F(BatchSenderTest, AConsumerThatKeepsUpGetsWhatThereIs) {
  Add(1);
  sender_.Send(5);
  ASSERT_EQ(queue_.size(), 1u);
  const auto batch = queue_.Pop();
  EXPECT_EQ(batch->items.size(), 1u);
  EXPECT_EQ(batch->now_ns, 5u);
  sender_.Send(6);
  EXPECT_EQ(queue_.size(), 0u) << "nothing is no reason to wake it";
  sender_.Send(5 + pipeline::BatchSender<Item>::kQuietNs);
  ASSERT_EQ(queue_.size(), 1u) << "but the time is, now and then";
  EXPECT_EQ(queue_.Pop()->now_ns, 5 + pipeline::BatchSender<Item>::kQuietNs);
}

TEST_F(BatchSenderTest, OneThatIsBehindGetsWholeBatchesAndNothingIsDroppedUntilTheQueueIsFull) {
  const std::size_t most = pipeline::BatchSender<Item>::kBehind +
                           (kCapacity - pipeline::BatchSender<Item>::kBehind) * kWhole;
  for (std::size_t i = 0; i < most; ++i) {
    Add(1);
    sender_.Send(i);
  }
  EXPECT_EQ(dropped_.value(), 0u);
  EXPECT_EQ(queue_.size(), kCapacity);
  EXPECT_EQ(Waiting(), most);
}

TEST_F(BatchSenderTest, WhenItIsFullEachProcessKeepsAShare) {
  constexpr auto kShare = pipeline::BatchSender<Item>::kShare;
  for (std::size_t i = 0; i < kCapacity; ++i) Add(kWhole);
  ASSERT_EQ(queue_.size(), kCapacity);
  Add(1, {.may_be_dropped = false});
  Add(4 * kShare, {.process = 2});
  Add(kShare, {.process = 3});
  sender_.Send(1);
  Add(kWhole, {.process = 2});
  (void)queue_.Pop();
  EXPECT_EQ(Waiting(), (kCapacity - 1) * kWhole);
  sender_.Send(2);
  std::map<std::uint32_t, std::size_t> waited;
  const auto batch = queue_.Pop();
  for (const Item& item : batch->items) ++waited[item.may_be_dropped ? item.process : 0];
  EXPECT_EQ(waited[0], 1u) << "what may not be dropped";
  EXPECT_EQ(waited[3], kShare);
  EXPECT_GE(waited[2], kShare);
  EXPECT_LT(waited[2], kShare + kWhole) << "no more but what came after the last try";
  EXPECT_EQ(dropped_.value() + waited[2], 4 * kShare + kWhole);
}

TEST_F(BatchSenderTest, ManyProcessesKeepABoundedNumber) {
  constexpr auto kMost = pipeline::BatchSender<Item>::kMaxKeptSamples;
  for (std::size_t i = 0; i < kCapacity; ++i) Add(kWhole);
  for (std::uint32_t i = 0; i < 2 * kMost; ++i) Add(1, {.process = i});
  sender_.Send(1);
  EXPECT_EQ(dropped_.value(), kMost);
  while (queue_.size() > 0) (void)queue_.Pop();
  sender_.Send(2);
  EXPECT_EQ(Waiting(), kMost);
}

}  // namespace
}  // namespace profd::pipeline
