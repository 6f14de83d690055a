#include "daemon/process/thread_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace profd::process {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ThreadNamesTest, TheNewestNameOfAThread) {
  ThreadNames names(10);
  EXPECT_EQ(names.Find({7, 100}), "");
  names.Set({7, 100}, 1, "early");
  names.Set({7, 100}, 3, "worker");
  names.Set({7, 100}, 2, "late");
  EXPECT_EQ(names.Find({7, 100}), "worker");
}

TEST(ThreadNamesTest, ANumberThatIsUsedAgainIsAnotherThread) {
  ThreadNames names(10);
  names.Set({7, 100}, 5, "old");
  EXPECT_EQ(names.Find({7, 200}), "");
  names.Set({7, 200}, 4, "new");  // its clock reading came late, but it is the younger thread
  EXPECT_EQ(names.Find({7, 200}), "new");
  EXPECT_EQ(names.Find({7, 100}), "");
  names.Set({7, 100}, 9, "ghost");
  EXPECT_EQ(names.Find({7, 200}), "new");
}

TEST(ThreadNamesTest, WithoutAStartTimeANameFitsAnyThreadWithTheNumber) {
  ThreadNames names(10);
  names.Set({7, 0}, 1, "listed");
  EXPECT_EQ(names.Find({7, 100}), "listed");
  names.Set({7, 100}, 2, "known");
  EXPECT_EQ(names.Find({7, 100}), "known");
  names.Set({7, 0}, 3, "listed again");
  EXPECT_EQ(names.Find({7, 100}), "listed again");
  EXPECT_EQ(names.Find({7, 200}), "");
}

TEST(ThreadNamesTest, TheEndOfAThreadIsNotThatOfAYoungerOneOfItsNumber) {
  ThreadNames names(10);
  names.Set({7, 200}, 5, "second");
  names.Forget({7, 100});
  EXPECT_EQ(names.Find({7, 200}), "second");
  names.Forget({7, 200});
  EXPECT_EQ(names.size(), 0u);
}

TEST(ThreadNamesTest, Forget) {
  ThreadNames names(10);
  names.Set({7, 100}, 1, "worker");
  names.Forget(7);
  names.Forget(8);
  EXPECT_EQ(names.Find({7, 100}), "");
  EXPECT_EQ(names.forgotten(), 0u);
}

TEST(ThreadNamesTest, BeyondTheBoundTheOldestNamesGo) {
  ThreadNames names(100);
  for (std::uint32_t tid = 1; tid <= 1'000; ++tid) names.Set({tid, 1}, tid, "t");
  EXPECT_LE(names.size(), 100u);
  EXPECT_EQ(names.size() + names.forgotten(), 1'000u);
  EXPECT_EQ(names.Find({1'000, 1}), "t");
  EXPECT_EQ(names.Find({1, 1}), "");
}

TEST(ThreadNamesTest, ThreadLinesOfProc) {
  std::vector<std::pair<std::uint32_t, std::string>> threads;
  ParseThreadNames(
      "1\tmain\n2\ta b\tc\n3\n\tx\nx\ty\n4\t\n99999999999\tz\n5\tcut",
      [&](std::uint32_t tid, std::string_view comm) { threads.emplace_back(tid, comm); });
  EXPECT_THAT(threads,
              ElementsAre(Pair(1, "main"), Pair(2, "a b\tc"), Pair(4, ""), Pair(5, "cut")));
}

}  // namespace
}  // namespace profd::process
