#include "daemon/symbolize/sample/frame_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace profd::symbolize {
namespace {

Frame Named(const std::string& name, std::uint64_t offset = 0) {
  Frame frame;
  frame.name = name;
  frame.offset = offset;
  return frame;
}

TEST(FrameTable, EqualFramesHaveOneId) {
  FrameTable table;
  const FrameId f = table.Intern(Named("f"));
  const FrameId g = table.Intern(Named("g"));
  EXPECT_EQ(f, 0u);
  EXPECT_EQ(g, 1u);
  EXPECT_EQ(table.Intern(Named("f")), f);
  EXPECT_NE(table.Intern(Named("f", 8)), f) << "the same function at another place";
  EXPECT_EQ(table.At(g).name, "g");
  EXPECT_EQ(table.size(), 3u);
}

TEST(FrameTable, EveryFieldCounts) {
  FrameTable table;
  std::set<FrameId> ids;
  for (int field = 0; field < 10; ++field) {
    Frame frame;
    if (field == 1) frame.kind = FrameKind::kKernel;
    if (field == 2) frame.inlined = true;
    if (field == 3) frame.name = "x";
    if (field == 4) frame.full_name = "x";
    if (field == 5) frame.module = "x";
    if (field == 6) frame.offset = 1;
    if (field == 7) frame.file = "x";
    if (field == 8) frame.line = 1;
    if (field == 9) frame.reason = "x";
    ids.insert(table.Intern(frame));
  }
  EXPECT_EQ(ids.size(), 10u);
}

TEST(FrameTable, ManyFramesKeepTheirIds) {
  FrameTable table;
  for (FrameId i = 0; i < 10'000; ++i) ASSERT_EQ(table.Intern(Named("f", i)), i);
  for (FrameId i = 0; i < 10'000; ++i) ASSERT_EQ(table.Intern(Named("f", i)), i);
}

TEST(FrameTable, AFullTableSaysSoAndCounts) {
  FrameTable table(2);
  const FrameId f = table.Intern(Named("f"));
  (void)table.Intern(Named("g"));
  const FrameId beyond = table.Intern(Named("h"));
  EXPECT_EQ(table.At(beyond).name, "[too many distinct frames]");
  EXPECT_EQ(table.At(beyond).kind, FrameKind::kPseudo);
  EXPECT_EQ(table.Intern(Named("i")), beyond);
  EXPECT_EQ(table.Intern(Named("f")), f);
  EXPECT_EQ(table.overflowed(), 2u);
  EXPECT_EQ(table.size(), 3u);
  table.Clear();
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.Intern(Named("h")), 0u);
}

}  // namespace
}  // namespace profd::symbolize
