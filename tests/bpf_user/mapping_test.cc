// Mappings are found in trees of every height, as the kernel builds them.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/bpf_user/unwind_world.h"

namespace profd {
namespace {

// `count` executable files of two pages each, every third after a gap; each asks for its own
// tables.
std::vector<user_mapping> Mappings(std::uint32_t count) {
  std::vector<user_mapping> mappings;
  std::uint64_t begin = 0x10000;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % 3 == 0) begin += 0x5000;
    mappings.push_back({begin, begin + 0x2000, 0x1000, 1, 1, 0, {i + 100, 1, 2, 3, 4}});
    begin += 0x2000;
  }
  return mappings;
}

TEST(MappingTest, TreesOfEveryHeight) {
  for (const std::uint32_t count : {1u, 7u, 15u, 16u, 40u, 150u, 1'000u}) {
    const std::vector<user_mapping> mappings = Mappings(count);
    for (std::uint32_t i = 0; i < count; i += count / 20 + 1) {
      UnwindWorld world;
      user_set_mappings(mappings.data(), count, 0);
      user_set_time(1'000'000'000);
      for (const std::uint64_t address : {mappings[i].begin, mappings[i].end - 1}) {
        user_set_time(user_wanted(nullptr) * 1'000'000'000 + 1'000'000'000);
        EXPECT_EQ(world.Walk(address).substr(world.Walk(address).find('|')), "| not-ready");
      }
      const profd_wanted* wanted = nullptr;
      ASSERT_EQ(user_wanted(&wanted), 2u) << count << ' ' << i;
      EXPECT_EQ(wanted[0].key.inode, i + 100);
      EXPECT_EQ(wanted[0].file_offset, 0x1000u);
      EXPECT_EQ(wanted[1].key.inode, i + 100);
      EXPECT_EQ(wanted[1].file_offset, 0x2fffu);
    }
  }
}

TEST(MappingTest, GapsAndDataAreNoCode) {
  UnwindWorld world;
  EXPECT_EQ(world.Walk(UnwindWorld::kText - 1), "3fffff | no-mapping");
  EXPECT_EQ(world.Walk(UnwindWorld::kText + UnwindWorld::kTextBytes), "420000 | no-mapping");
  EXPECT_EQ(world.Walk(UnwindWorld::kStack), "7ffc00000000 | no-mapping");
  EXPECT_EQ(world.Walk(~std::uint64_t{0}), "ffffffffffffffff | no-mapping");
  EXPECT_EQ(user_counter(PROFD_COUNTER_MAPPING_FAILED), 0u);
}

TEST(MappingTest, TheVdsoHasAKeyOfItsOwn) {
  UnwindWorld world;
  const std::vector<user_mapping> mappings{{0x7000, 0x9000, 0x7fff000, 1, 0, 1, {}}};
  user_set_mappings(mappings.data(), 1, 0);
  user_set_time(1'000'000'000);
  EXPECT_EQ(world.Walk(0x7123), "7123 | not-ready");
  const profd_wanted* wanted = nullptr;
  ASSERT_EQ(user_wanted(&wanted), 1u);
  EXPECT_EQ(wanted->key.inode, std::uint64_t{PROFD_VDSO_INODE});
  EXPECT_EQ(wanted->key.device, 0u);
  EXPECT_EQ(wanted->key.size, 0u);
  EXPECT_EQ(wanted->file_offset, 0x123u);
}

}  // namespace
}  // namespace profd
