#include "client/screens/diff/diff_view.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/text/text.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

std::string Rendered(const v1::Profile& a, const v1::Profile& b, const DiffViewOptions& options) {
  const auto diff = Diff::Build(a, b, {.a_name = "before.json", .b_name = "after.json"});
  EXPECT_TRUE(diff);
  return diff ? RenderDiff(*diff, options) : "";
}

std::string Small(const DiffViewOptions& options) {
  return Rendered(testing::SmallProfile(), testing::SmallProfileLater(), options);
}

TEST(DiffViewTest, Goldens) {
  for (const std::size_t width : {80u, 120u})
    ExpectGolden(Small({.width = width}), "diff_" + std::to_string(width) + ".txt");
  ExpectGolden(Small({.width = 120, .complete = true}), "diff_120_complete.txt");
}

TEST(DiffViewTest, FitsTheWidth) {
  for (const std::size_t width : {80u, 100u, 200u}) {
    for (const v1::Profile& b : {testing::LargeProfile(2000), testing::HostileProfile()}) {
      std::istringstream lines(
          Rendered(testing::TypicalProfile(), b, {.width = width, .complete = true}));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(DisplayWidth(line), width) << line;
        EXPECT_EQ(SafeText(line), line);
      }
    }
  }
}

TEST(DiffViewTest, ColorChangesNoText) {
  EXPECT_EQ(WithoutColor(Small({.width = 100, .palette = Palette(true)})), Small({.width = 100}));
}

TEST(DiffViewTest, EqualProfilesHaveNoFunctionsToShow) {
  const std::string text =
      Rendered(testing::SmallProfile(), testing::SmallProfile(), {.width = 80});
  EXPECT_NE(text.find("no function changed"), std::string::npos) << text;
  EXPECT_EQ(text.find("compute"), std::string::npos) << text;
}

}  // namespace
}  // namespace profd::client
