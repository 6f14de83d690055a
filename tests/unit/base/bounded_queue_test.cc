#include "daemon/base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace profd {
namespace {

TEST(BoundedQueueTest, FirstInFirstOut) {
  BoundedQueue<int> queue(3);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(queue.TryPush(int{i}));
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(queue.Pop(), i);
}

TEST(BoundedQueueTest, WhatDoesNotFitStaysWithTheCaller) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.TryPush(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.TryPush(std::move(second)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
}

TEST(BoundedQueueTest, ClosedQueueGivesOutWhatIsLeftAndThenNothing) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  queue.Close();
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_FALSE(queue.Push(2));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_FALSE(queue.Pop());
}

TEST(BoundedQueueTest, CloseWakesAllWaiters) {
  BoundedQueue<int> empty(1);
  std::jthread consumer([&] { EXPECT_FALSE(empty.Pop()); });
  BoundedQueue<int> full(1);
  ASSERT_TRUE(full.TryPush(1));
  std::jthread producer([&] { EXPECT_FALSE(full.Push(2)); });
  empty.Close();
  full.Close();
}

TEST(BoundedQueueTest, StopWakesAllWaiters) {
  BoundedQueue<int> empty(1);
  std::jthread consumer([&](const std::stop_token& stop) { EXPECT_FALSE(empty.Pop(stop)); });
  BoundedQueue<int> full(1);
  ASSERT_TRUE(full.TryPush(1));
  std::jthread producer([&](const std::stop_token& stop) { EXPECT_FALSE(full.Push(2, stop)); });
  // Destruction of the threads requests the stop, and joins.
}

TEST(BoundedQueueTest, EveryItemArrivesOnceAndInTheOrderOfItsProducer) {
  constexpr int kProducers = 3;
  constexpr int kItems = 20'000;
  BoundedQueue<std::pair<int, int>> queue(16);
  std::vector<std::vector<int>> seen(kProducers);
  {
    std::vector<std::jthread> producers;
    for (int p = 0; p < kProducers; ++p) {
      producers.emplace_back([&queue, p] {
        for (int i = 0; i < kItems; ++i) EXPECT_TRUE(queue.Push({p, i}));
      });
    }
    for (int i = 0; i < kProducers * kItems; ++i) {
      const auto item = queue.Pop();
      ASSERT_TRUE(item);
      seen[static_cast<std::size_t>(item->first)].push_back(item->second);
    }
  }
  for (const auto& items : seen) {
    ASSERT_EQ(items.size(), std::size_t{kItems});
    for (int i = 0; i < kItems; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace profd
