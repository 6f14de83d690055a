// Eventually: waits for what another thread or process does.
#pragma once

#include <chrono>
#include <thread>

namespace profd::test {

// True as soon as `condition` holds; false if it does not within the limit, which only a hang
// reaches: ASSERT_TRUE(Eventually(...)) fails the test with the line that waited.
template <typename Condition>
[[nodiscard]] bool Eventually(const Condition& condition,
                              std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace profd::test
