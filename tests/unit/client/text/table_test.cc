#include "client/text/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/text/text.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

Table SampleTable() {
  Table table({{"name", Align::kLeft, Shrink::kMiddle, Tone::kStrong},
               {"empty"},
               {"count", Align::kRight},
               {"on", Align::kLeft, Shrink::kList}});
  table.AddRow({"a-thread-with-quite-a-long-name", "", "1,234", "lock 50.0 %, io 25.0 %"});
  table.AddRow({"b", "", "7"});
  return table;
}

TEST(TableTest, AlignsAndLeavesEmptyColumnsOut) {
  EXPECT_EQ(SampleTable().Render(80, Palette()),
            "name                              count   on\n"
            "a-thread-with-quite-a-long-name   1,234   lock 50.0 %, io 25.0 %\n"
            "b                                     7\n");
}

TEST(TableTest, NamesGiveWayBeforeLists) {
  EXPECT_EQ(SampleTable().Render(48, Palette()),
            "name               count  on\n"
            "a-threa...ng-name  1,234  lock 50.0 %, io 25.0 %\n"
            "b                      7\n");
}

TEST(TableTest, FitsEveryWidthThatItsNumbersFit) {
  for (std::size_t width = 30; width < 80; ++width) {
    std::istringstream lines(SampleTable().Render(width, Palette()));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(DisplayWidth(line), width) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(TableTest, NumbersAreNeverCut) {
  EXPECT_NE(SampleTable().Render(20, Palette()).find("1,234"), std::string::npos);
}

TEST(TableTest, ColorChangesNoText) {
  for (const std::size_t width : {40u, 80u}) {
    const std::string colored = SampleTable().Render(width, Palette(true));
    EXPECT_NE(colored.find('\x1b'), std::string::npos);
    EXPECT_EQ(WithoutColor(colored), SampleTable().Render(width, Palette()));
  }
}

}  // namespace
}  // namespace profd::client
