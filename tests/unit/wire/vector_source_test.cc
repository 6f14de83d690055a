#include "tests/support/vector_source.h"

#include <gtest/gtest.h>

namespace profd::wire {
namespace {

TEST(VectorSource, HandsOverInBatchesThenEnds) {
  test::VectorSource source({{std::byte{1}}, {std::byte{2}}, {std::byte{3}}}, 2);
  std::vector<std::byte> seen;
  const auto sink = [&](const wire::RawEvent& event) { seen.push_back(event.bytes[0]); };
  EXPECT_EQ(source.Poll(std::chrono::milliseconds(0), sink).value(), wire::PollStatus::kEvents);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(source.Poll(std::chrono::milliseconds(0), sink).value(), wire::PollStatus::kEvents);
  EXPECT_EQ(seen, (std::vector{std::byte{1}, std::byte{2}, std::byte{3}}));
  EXPECT_EQ(source.Poll(std::chrono::milliseconds(0), sink).value(), wire::PollStatus::kEnd);
}

}  // namespace
}  // namespace profd::wire
