#include "daemon/base/counter.h"

#include <gtest/gtest.h>

#include <thread>

namespace profd {
namespace {

TEST(CounterTest, AddAndSet) {
  Counter counter;
  EXPECT_EQ(counter.value(), 0u);
  counter.Add();
  counter.Add(41);
  EXPECT_EQ(counter.value(), 42u);
  counter.Set(7);
  EXPECT_EQ(counter.value(), 7u);
}

TEST(CounterTest, ReadersSeeItGrow) {
  constexpr std::uint64_t kCount = 100'000;
  Counter counter;
  std::jthread writer([&counter] {
    for (std::uint64_t i = 0; i < kCount; ++i) counter.Add();
  });
  std::uint64_t last = 0;
  while (last < kCount) {
    const std::uint64_t now = counter.value();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_EQ(last, kCount);
}

}  // namespace
}  // namespace profd
