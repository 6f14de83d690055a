#include "daemon/process/address_space.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace profd::process {
namespace {

Mapping Range(std::uint64_t start, std::uint64_t end, std::uint64_t file_offset = 0,
              std::uint64_t since_ns = 0) {
  return {.start = start,
          .end = end,
          .file_offset = file_offset,
          .since_ns = since_ns,
          .module = nullptr};
}

class AddressSpaceTest : public ::testing::Test {
 protected:
  AddressSpace MakeSpace(std::size_t max_mappings = 1'000) { return {max_mappings, budget_}; }

  MappingBudget budget_;
};

TEST_F(AddressSpaceTest, FindsWhatLiesInARangeAndNothingElse) {
  AddressSpace space = MakeSpace();
  ASSERT_TRUE(space.Insert(Range(0x1000, 0x2000, 7)));
  EXPECT_EQ(space.Find(0xfff), nullptr);
  ASSERT_NE(space.Find(0x1000), nullptr);
  EXPECT_EQ(space.Find(0x1000)->file_offset, 7u);
  EXPECT_NE(space.Find(0x1fff), nullptr);
  EXPECT_EQ(space.Find(0x2000), nullptr);
}

TEST_F(AddressSpaceTest, RangesWithoutLengthAreRefused) {
  AddressSpace space = MakeSpace();
  EXPECT_FALSE(space.Insert(Range(0x1000, 0x1000)));
  EXPECT_FALSE(space.Insert(Range(0x2000, 0x1000)));
  EXPECT_EQ(space.size(), 0u);
}

TEST_F(AddressSpaceTest, TheEndOfTheAddressSpaceIsInReach) {
  AddressSpace space = MakeSpace();
  ASSERT_TRUE(space.Insert(Range(~0ull - 0x1000, ~0ull)));
  EXPECT_NE(space.Find(~0ull - 1), nullptr);
  EXPECT_EQ(space.Find(~0ull), nullptr);
}

TEST_F(AddressSpaceTest, ARangeInTheMiddleMakesTwoOfTheOther) {
  AddressSpace space = MakeSpace();
  ASSERT_TRUE(space.Insert(Range(100, 200, 1'000)));
  ASSERT_TRUE(space.Insert(Range(140, 150, 5'000)));
  ASSERT_EQ(space.size(), 3u);
  EXPECT_EQ(space.Find(139)->end, 140u);
  EXPECT_EQ(space.Find(140)->file_offset, 5'000u);
  EXPECT_EQ(space.Find(150)->start, 150u);
  EXPECT_EQ(space.Find(150)->file_offset, 1'050u);
}

// Against an array that says for each address which insertion it shows, and where in the file.
TEST_F(AddressSpaceTest, AnyOrderOfInsertionsAndRemovalsLeavesWhatTheLastOneSaid) {
  constexpr std::uint64_t kSize = 64;
  struct Shown {
    std::uint64_t since_ns = 0;
    std::uint64_t file_position = 0;
  };
  std::mt19937_64 random(4711);
  for (int round = 0; round < 200; ++round) {
    AddressSpace space = MakeSpace();
    std::array<Shown, kSize> truth{};
    for (std::uint64_t step = 1; step <= 60; ++step) {
      const std::uint64_t start = random() % kSize;
      const std::uint64_t end = start + 1 + random() % (kSize - start);
      const bool insert = random() % 4 != 0;
      const std::uint64_t file_offset = random() % 100'000;
      if (insert) {
        ASSERT_TRUE(space.Insert(Range(start, end, file_offset, step)));
      } else {
        ASSERT_TRUE(space.Remove(start, end));
      }
      for (std::uint64_t at = start; at < end; ++at)
        truth[at] = insert ? Shown{step, file_offset + at - start} : Shown{};
    }
    std::uint64_t last_end = 0;
    for (const auto& [start, mapping] : space.mappings()) {
      EXPECT_EQ(start, mapping.start);
      EXPECT_GE(mapping.start, last_end);
      EXPECT_LT(mapping.start, mapping.end);
      last_end = mapping.end;
    }
    for (std::uint64_t at = 0; at < kSize; ++at) {
      const Mapping* mapping = space.Find(at);
      ASSERT_EQ(mapping != nullptr, truth[at].since_ns != 0) << at;
      if (mapping == nullptr) continue;
      EXPECT_EQ(mapping->since_ns, truth[at].since_ns);
      EXPECT_EQ(mapping->file_offset + at - mapping->start, truth[at].file_position);
    }
    EXPECT_EQ(budget_.used, space.size());
  }
  EXPECT_EQ(budget_.used, 0u);
}

TEST_F(AddressSpaceTest, CopiesShareUntilOneChanges) {
  AddressSpace parent = MakeSpace();
  ASSERT_TRUE(parent.Insert(Range(100, 200)));
  ASSERT_TRUE(parent.Insert(Range(300, 400)));
  AddressSpace child = parent;
  EXPECT_EQ(budget_.used, 2u);
  EXPECT_EQ(&parent.mappings(), &child.mappings());
  ASSERT_TRUE(child.Insert(Range(500, 600)));
  EXPECT_EQ(budget_.used, 5u);
  EXPECT_EQ(parent.Find(500), nullptr);
  ASSERT_TRUE(parent.Remove(100, 200));
  EXPECT_NE(child.Find(100), nullptr);
  child.Clear();
  EXPECT_EQ(budget_.used, 1u);
}

TEST_F(AddressSpaceTest, RemovingWhatIsNotThereCopiesNothing) {
  AddressSpace parent = MakeSpace();
  ASSERT_TRUE(parent.Insert(Range(100, 200)));
  AddressSpace child = parent;
  EXPECT_TRUE(child.Remove(200, 300));
  EXPECT_TRUE(child.Remove(0, 100));
  EXPECT_TRUE(child.Remove(150, 150));
  EXPECT_EQ(&parent.mappings(), &child.mappings());
}

TEST_F(AddressSpaceTest, RemoveOlderKeepsWhatIsAsYoung) {
  AddressSpace space = MakeSpace();
  ASSERT_TRUE(space.Insert(Range(100, 200, 0, 9)));
  ASSERT_TRUE(space.Insert(Range(200, 300, 0, 10)));
  const AddressSpace before = space;
  space.RemoveOlder(10);
  EXPECT_EQ(space.Find(100), nullptr);
  EXPECT_NE(space.Find(200), nullptr);
  EXPECT_EQ(before.size(), 2u);
}

TEST_F(AddressSpaceTest, NoMoreThanTheBoundOfOneProcess) {
  AddressSpace space = MakeSpace(3);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(space.Insert(Range(100 * i, 100 * i + 50)));
  EXPECT_FALSE(space.Insert(Range(1'000, 1'100)));
  EXPECT_EQ(space.size(), 3u);
  // One that takes the place of another fits.
  EXPECT_TRUE(space.Insert(Range(100, 150, 5)));
  // A hole would make two of one: the part behind it is discarded, never shown wrongly.
  EXPECT_FALSE(space.Remove(110, 120));
  EXPECT_NE(space.Find(109), nullptr);
  EXPECT_EQ(space.Find(115), nullptr);
  EXPECT_EQ(space.Find(120), nullptr);
}

TEST_F(AddressSpaceTest, NoMoreThanTheBoundOfAll) {
  budget_.limit = 4;
  AddressSpace one = MakeSpace();
  AddressSpace two = MakeSpace();
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(one.Insert(Range(100 * i, 100 * i + 50)));
  ASSERT_TRUE(two.Insert(Range(0, 50)));
  EXPECT_FALSE(two.Insert(Range(100, 150)));
  // A change of a shared one needs a copy, for which there is no room.
  AddressSpace child = one;
  EXPECT_FALSE(child.Insert(Range(0, 50)));
  EXPECT_EQ(child.Find(0), nullptr);
  EXPECT_EQ(one.size(), 3u);
  EXPECT_LE(budget_.used, budget_.limit);
  ASSERT_TRUE(one.Remove(0, 50));
  EXPECT_TRUE(two.Insert(Range(100, 150)));
}

}  // namespace
}  // namespace profd::process
