#include "client/screens/report/tree_view.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/profile/profile_facts.h"
#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;
using testing::Running;

std::string Rendered(const Result<CallTree>& tree, const v1::Profile& profile, const TreeCut& cut,
                     const ReportViewOptions& options) {
  EXPECT_TRUE(tree);
  if (!tree) return "";
  ReportScale scale;
  scale.whole_ns = tree->all_ns;
  scale.elapsed_ns = LengthNs(profile);
  return RenderTree(*tree, "calls", scale, cut, options);
}

std::string Program(const v1::Profile& profile, const TreeCut& cut = {},
                    const ReportViewOptions& options = {}) {
  return Rendered(ProgramTree(profile, TreeOrder::kMerged, {}), profile, cut, options);
}

TEST(TreeViewTest, MatchesItsGolden) {
  const v1::Profile profile = testing::TypicalProfile();
  for (const std::size_t width : {80u, 120u}) {
    ReportViewOptions options;
    options.width = width;
    const std::string end = "_" + std::to_string(width) + ".txt";
    ExpectGolden(Program(profile, {}, options), "report_tree" + end);
    ExpectGolden(Rendered(CallersOf("Tensor.numpy", profile, {}), profile, {}, options),
                 "report_callers" + end);
  }
}

TEST(TreeViewTest, ColourChangesNoTextAndLinesFit) {
  const v1::Profile profile = testing::LargeProfile(2000);
  for (const std::size_t width : {80u, 200u}) {
    ReportViewOptions options;
    options.width = width;
    const std::string plain = Program(profile, {}, options);
    options.palette = Palette(true);
    EXPECT_EQ(WithoutColor(Program(profile, {}, options)), plain);
    std::istringstream lines(plain);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

TEST(TreeViewTest, WhatIsLightIsCounted) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"[main]", "[heavy]"}, Running(970, 97));
  for (int i = 0; i < 6; ++i)
    maker.Add(thread, {"[main]", "[light " + std::to_string(i) + "]"}, Running(5, 1));
  EXPECT_EQ(Program(maker.Make()),
            "calls, shares of all thread time\n"
            "  total     self\n"
            "100.0 %            all\n"
            "100.0 %              [main]\n"
            " 97.0 %   97.0 %       [heavy]\n"
            " ~3.0 %                ... and 6 more\n");
  TreeCut all;
  all.least_share = 0;
  EXPECT_NE(Program(maker.Make(), all).find("[light 5]"), std::string::npos);
  TreeCut flat;
  flat.depth = 1;
  EXPECT_EQ(Program(maker.Make(), flat).find("[heavy]"), std::string::npos);
}

TEST(TreeViewTest, TimeOfItsOwnBesideCallsIsALine) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"[main]"}, Running(600, 60));
  maker.Add(thread, {"[main]", "[step]"}, Running(400, 40));
  EXPECT_NE(Program(maker.Make()).find("60.0 %   60.0 %       [self]\n"), std::string::npos)
      << Program(maker.Make());
}

TEST(TreeViewTest, TheSheetHasEveryNode) {
  const v1::Profile profile = testing::LargeProfile(2000);
  const auto tree = ProgramTree(profile, TreeOrder::kMerged, {});
  ASSERT_TRUE(tree);
  const ReportSheet sheet = SheetOf(*tree);
  EXPECT_EQ(sheet.rows.size(), tree->nodes.size());
  for (const auto& row : sheet.rows) ASSERT_EQ(row.size(), sheet.columns.size());
  EXPECT_EQ(sheet.columns[0], "depth");
  EXPECT_EQ(std::get<std::uint64_t>(sheet.rows[0][3]), tree->all_ns);
}

}  // namespace
}  // namespace profd::client
