#include "daemon/base/lru_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace profd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Keys in the order in which they are discarded.
template <typename Cache>
std::vector<int> Drain(Cache& cache) {
  std::vector<int> keys;
  while (const int* oldest = cache.oldest()) {
    keys.push_back(*oldest);
    EXPECT_TRUE(cache.DiscardOldest());
  }
  EXPECT_FALSE(cache.DiscardOldest());
  return keys;
}

TEST(LruCacheTest, FindsWhatWasPut) {
  LruCache<int, std::string> cache(10);
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_EQ(cache.Put(1, "one"), "one");
  ASSERT_NE(cache.Find(1), nullptr);
  EXPECT_EQ(*cache.Find(1), "one");
  EXPECT_EQ(cache.Put(1, "again"), "again");
  EXPECT_EQ(*cache.Peek(1), "again");
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.Peek(2), nullptr);
}

TEST(LruCacheTest, BeyondItsNumberTheLeastRecentlyUsedLeaves) {
  LruCache<int, int> cache(3);
  for (int key = 1; key <= 3; ++key) cache.Put(key, key);
  EXPECT_NE(cache.Find(1), nullptr);  // a use
  EXPECT_NE(cache.Peek(2), nullptr);  // no use
  cache.Put(4, 4);
  EXPECT_EQ(cache.Peek(2), nullptr);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_THAT(Drain(cache), ElementsAre(3, 1, 4));
}

TEST(LruCacheTest, PuttingAgainIsAUse) {
  LruCache<int, int> cache(3);
  for (int key = 1; key <= 3; ++key) cache.Put(key, key);
  cache.Put(1, 10);
  EXPECT_THAT(Drain(cache), ElementsAre(2, 3, 1));
}

TEST(LruCacheTest, BeyondItsCostAsManyLeaveAsAreNeeded) {
  LruCache<int, int> cache(100, 10);
  for (int key = 1; key <= 5; ++key) cache.Put(key, key, 2);
  EXPECT_EQ(cache.cost(), 10u);
  cache.Put(6, 6, 5);
  EXPECT_EQ(cache.cost(), 9u);
  EXPECT_THAT(Drain(cache), ElementsAre(4, 5, 6));
  EXPECT_EQ(cache.cost(), 0u);
}

TEST(LruCacheTest, TheOneInUseStaysWhenItAloneIsBeyondTheBound) {
  LruCache<int, int> cache(100, 10);
  cache.Put(1, 1, 3);
  cache.Put(2, 2, 50);
  EXPECT_EQ(cache.cost(), 50u);
  EXPECT_THAT(Drain(cache), ElementsAre(2));
}

TEST(LruCacheTest, AnEntryThatGrowsMakesOthersLeave) {
  LruCache<int, int> cache(100, 10);
  for (int key = 1; key <= 5; ++key) cache.Put(key, key, 2);
  cache.Charge(1, 7);
  EXPECT_EQ(cache.cost(), 9u);
  cache.Charge(1, 1);
  EXPECT_EQ(cache.cost(), 3u);
  EXPECT_THAT(Drain(cache), ElementsAre(5, 1));
}

TEST(LruCacheTest, ReplacingReplacesTheCost) {
  LruCache<int, int> cache(100);
  cache.Put(1, 1, 7);
  cache.Put(1, 1, 2);
  EXPECT_EQ(cache.cost(), 2u);
}

TEST(LruCacheTest, ShrinkDiscardsTheLeastRecentlyUsed) {
  LruCache<int, int> cache(100);
  for (int key = 1; key <= 5; ++key) cache.Put(key, key, 2);
  cache.Shrink(10);
  EXPECT_EQ(cache.size(), 5u);
  cache.Shrink(5);
  EXPECT_EQ(cache.cost(), 4u);
  EXPECT_EQ(*cache.oldest(), 4);
  cache.Shrink(0);
  EXPECT_TRUE(cache.empty());
}

TEST(LruCacheTest, SaysWhatItDiscardsAndNothingElse) {
  std::vector<std::pair<int, std::string>> discarded;
  std::size_t size_then = 100;
  LruCache<int, std::string> cache(2, LruCache<int, std::string>::kUnbounded,
                                   [&](int key, const std::string& value) {
                                     discarded.emplace_back(key, value);
                                     size_then = cache.size();
                                   });
  cache.Put(1, "a");
  cache.Put(2, "b");
  cache.Put(2, "replaced");
  EXPECT_TRUE(cache.Erase(1));
  EXPECT_FALSE(cache.Erase(1));
  EXPECT_THAT(discarded, IsEmpty());
  cache.Put(3, "c");
  cache.Put(4, "d");
  EXPECT_THAT(discarded, ElementsAre(std::pair<int, std::string>(2, "replaced")));
  EXPECT_EQ(size_then, 2u);
  cache.Clear();
  EXPECT_EQ(discarded.size(), 1u);
  EXPECT_EQ(cache.oldest(), nullptr);
}

TEST(LruCacheTest, EraseIfKeepsTheOrderOfTheOthers) {
  LruCache<int, int> cache(100);
  for (int key = 1; key <= 7; ++key) cache.Put(key, key * 10, 3);
  EXPECT_NE(cache.Find(3), nullptr);
  cache.EraseIf([](int key, int value) {
    EXPECT_EQ(value, key * 10);
    return key % 2 == 0;
  });
  EXPECT_EQ(cache.cost(), 12u);
  EXPECT_THAT(Drain(cache), ElementsAre(1, 5, 7, 3));
}

TEST(LruCacheTest, ForEachVisitsAll) {
  LruCache<int, int> cache(100);
  for (int key = 1; key <= 4; ++key) cache.Put(key, 0);
  cache.ForEach([](int key, int& value) { value = key; });
  int sum = 0;
  cache.ForEach([&](int /*key*/, int value) { sum += value; });
  EXPECT_EQ(sum, 10);
}

TEST(LruCacheTest, HoldsWhatCanOnlyBeMovedAndKeepsItsPlace) {
  LruCache<int, std::unique_ptr<int>> cache(10'000);
  const std::unique_ptr<int>* first = &cache.Put(0, std::make_unique<int>(0));
  for (int key = 1; key < 10'000; ++key) cache.Put(key, std::make_unique<int>(key));
  EXPECT_EQ(cache.Find(0), first);
}

// A list that is searched from its front to its end has the same rule and no way to get it wrong.
TEST(LruCacheTest, AgreesWithASearchedListUnderRandomUse) {
  constexpr std::size_t kEntries = 20;
  constexpr std::size_t kCost = 50;
  struct Entry {
    int key;
    int value;
    std::size_t cost;
  };
  std::mt19937 random(7);
  LruCache<int, int> cache(kEntries, kCost);
  std::list<Entry> list;  // most recently used first
  const auto find = [&](int key) {
    return std::find_if(list.begin(), list.end(), [&](const Entry& one) { return one.key == key; });
  };
  for (int step = 0; step < 20'000; ++step) {
    const int key = static_cast<int>(random() % 40);
    const auto known = find(key);
    switch (random() % 4) {
      case 0: {
        const std::size_t cost = random() % 8;
        if (known != list.end()) list.erase(known);
        list.push_front({key, step, cost});
        cache.Put(key, step, cost);
        break;
      }
      case 1:
        ASSERT_EQ(cache.Erase(key), known != list.end());
        if (known != list.end()) list.erase(known);
        break;
      default: {
        const int* value = cache.Find(key);
        ASSERT_EQ(value != nullptr, known != list.end());
        if (value == nullptr) break;
        ASSERT_EQ(*value, known->value);
        list.splice(list.begin(), list, known);
      }
    }
    const auto cost = [&] {
      std::size_t sum = 0;
      for (const Entry& one : list) sum += one.cost;
      return sum;
    };
    while (list.size() > 1 && (list.size() > kEntries || cost() > kCost)) list.pop_back();
    ASSERT_EQ(cache.size(), list.size());
    ASSERT_EQ(cache.cost(), cost());
    ASSERT_EQ(cache.oldest() == nullptr, list.empty());
    if (!list.empty()) {
      ASSERT_EQ(*cache.oldest(), list.back().key);
    }
  }
}

}  // namespace
}  // namespace profd
