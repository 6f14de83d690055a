#include "client/screens/top/top_state.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

void Type(TopState& state, const std::string& letters) {
  for (const char letter : letters) Press(state, {KeyKind::kText, std::string(1, letter)}, 10);
}

void Hit(TopState& state, KeyKind kind) { Press(state, {kind, ""}, 10); }

TEST(TopStateTest, ViewsAndTheirColumns) {
  TopState state;
  Type(state, "f");
  EXPECT_EQ(state.view, TopView::kFunctions);
  Type(state, "S");
  EXPECT_EQ(state.sort, TopSort::kTotal);
  Type(state, "t");  // threads have no such column
  EXPECT_EQ(state.view, TopView::kThreads);
  EXPECT_EQ(state.sort, TopSort::kRunning);
  Type(state, "p");
  EXPECT_EQ(state.view, TopView::kProcesses);
}

TEST(TopStateTest, SortGoesRoundBothWays) {
  TopState state;
  Type(state, "sssss");
  EXPECT_EQ(state.sort, TopSort::kRunning);
  Type(state, "S");
  EXPECT_EQ(state.sort, TopSort::kName);
}

TEST(TopStateTest, FilterIsTypedAndLettersAreNoCommandsMeanwhile) {
  TopState state;
  Type(state, "/qfx");
  EXPECT_TRUE(state.typing_filter);
  EXPECT_FALSE(state.quit);
  Press(state, {KeyKind::kText, "\xc3\xa4"}, 10);
  Hit(state, KeyKind::kBackspace);
  Hit(state, KeyKind::kBackspace);
  EXPECT_EQ(state.filter, "qf");
  Hit(state, KeyKind::kEnter);
  EXPECT_FALSE(state.typing_filter);
  EXPECT_EQ(state.filter, "qf");
  Hit(state, KeyKind::kEscape);
  EXPECT_EQ(state.filter, "");
  Type(state, "/a");
  Hit(state, KeyKind::kEscape);
  EXPECT_EQ(state.filter, "");
  EXPECT_FALSE(state.typing_filter);
}

TEST(TopStateTest, MovesAndNeverAboveTheFirstRow) {
  TopState state;
  Hit(state, KeyKind::kUp);
  EXPECT_EQ(state.first_row, 0u);
  Hit(state, KeyKind::kPageDown);
  Hit(state, KeyKind::kDown);
  EXPECT_EQ(state.first_row, 11u);
  Hit(state, KeyKind::kPageUp);
  EXPECT_EQ(state.first_row, 1u);
  Hit(state, KeyKind::kHome);
  EXPECT_EQ(state.first_row, 0u);
}

TEST(TopStateTest, HelpGoesWithAnyKey) {
  TopState state;
  Type(state, "h");
  EXPECT_TRUE(state.help);
  Type(state, "h");
  EXPECT_FALSE(state.help);
  Type(state, "?f");
  EXPECT_FALSE(state.help);
  EXPECT_EQ(state.view, TopView::kFunctions);
}

TEST(TopStateTest, PauseTotalKernelAndTheWaysOut) {
  TopState state;
  Type(state, " ek");
  EXPECT_TRUE(state.paused);
  EXPECT_TRUE(state.total);
  EXPECT_FALSE(state.kernel);
  Type(state, "q");
  EXPECT_TRUE(state.quit);
  TopState typing;
  Type(typing, "/");
  Hit(typing, KeyKind::kInterrupt);
  EXPECT_TRUE(typing.quit);
}

}  // namespace
}  // namespace profd::client
