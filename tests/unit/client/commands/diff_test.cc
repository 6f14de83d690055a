#include "client/commands/diff.h"

#include <gtest/gtest.h>

#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

TEST(DiffVerbTest, DiffTakesTwoFiles) {
  const auto options = OptionsOf<DiffVerb>({"diff", "a.json", "-", "--absolute", "--filter-b",
                                            "pid=7", "-o", "d.svg", "-o", "d.json", "--threads"});
  EXPECT_EQ(options.a.source, "a.json");
  EXPECT_EQ(options.b.source, "-");
  EXPECT_TRUE(options.absolute);
  EXPECT_TRUE(options.threads);
  EXPECT_EQ(options.a.filter, "");
  EXPECT_EQ(options.b.filter, "pid=7");
  EXPECT_EQ(options.files.size(), 2u);
  EXPECT_EQ(Refused({"diff"}).message, "nothing to compare is named");
  EXPECT_EQ(Refused({"diff", "a.json"}).message, "only one side is named");
  EXPECT_EQ(Refused({"diff", "a", "b", "c"}).message, "more than two sides are named");
  EXPECT_EQ(Refused({"diff", "-", "-"}).message, "both sides are standard input");
}

TEST(DiffVerbTest, PathsAreComparedOnRequest) {
  EXPECT_EQ(OptionsOf<DiffVerb>({"diff", "a", "b"}).on_whom, PathDetail::kNone);
  EXPECT_EQ(OptionsOf<DiffVerb>({"diff", "--on-whom", "a", "b"}).on_whom, PathDetail::kSteps);
  EXPECT_EQ(OptionsOf<DiffVerb>({"diff", "a", "b", "--on-whom=stacks"}).on_whom,
            PathDetail::kStacks);
  EXPECT_EQ(Refused({"diff", "a", "b", "--on-whom=all"}).message,
            "--on-whom=all: there is no such detail");
}

TEST(DiffVerbTest, DiffTakesRangesOfTheHistory) {
  constexpr std::uint64_t kHourNs = 3'600'000'000'000;
  const auto options =
      OptionsOf<DiffVerb>({"diff", "2h..1h", "1h..", "--comm", "redis*", "-p", "7"});
  ASSERT_TRUE(options.a.history && options.b.history);
  const HistoryQuestion& a = *options.a.history;
  const HistoryQuestion& b = *options.b.history;
  EXPECT_EQ(options.a.source, "2h..1h");
  EXPECT_EQ(a.request.to_unix_ns() - a.request.from_unix_ns(), kHourNs);
  // Both are of one now.
  EXPECT_EQ(a.request.to_unix_ns(), b.request.from_unix_ns());
  EXPECT_EQ(b.request.to_unix_ns() - b.request.from_unix_ns(), kHourNs);
  for (const HistoryQuestion* question : {&a, &b}) {
    EXPECT_EQ(question->who, "pid 7, comm redis*");
    EXPECT_EQ(question->request.filter().comm(0), "redis*");
    EXPECT_EQ(question->request.filter().pid(0), 7u);
  }
  const auto mixed =
      OptionsOf<DiffVerb>({"diff", "a.json", "..2026-11-20T14:05:00Z", "--user", "root"});
  EXPECT_FALSE(mixed.a.history.has_value());
  ASSERT_TRUE(mixed.b.history.has_value());
  EXPECT_EQ(mixed.b.history->request.from_unix_ns(), 0u);
  EXPECT_EQ(mixed.b.history->request.to_unix_ns(), 1'795'183'500'000'000'000u);
}

TEST(DiffVerbTest, WhatIsNoTwoTimesIsAFileOfADiff) {
  for (const char* file : {"../a.json", "..", "a..b", "2h..soon", "./1h..", "-", "1h"}) {
    const auto options = OptionsOf<DiffVerb>({"diff", file, "b.json"});
    EXPECT_FALSE(options.a.history.has_value()) << file;
    EXPECT_EQ(options.a.source, file);
  }
}

TEST(DiffVerbTest, ADiffRefusesAnEmptyRangeAndFiltersWithoutHistory) {
  EXPECT_NE(Refused({"diff", "1h..2h", "1h.."}).message.find("1h..2h is empty"), std::string::npos);
  EXPECT_NE(Refused({"diff", "1h..1h", "a.json"}).message.find("is empty"), std::string::npos);
  EXPECT_NE(Refused({"diff", "2h..", "9999-01-01.."}).message.find("is empty"), std::string::npos);
  const Error files = Refused({"diff", "a.json", "b.json", "--unit", "nginx"});
  EXPECT_EQ(files.message, "--unit is for the history, and both sides are files");
  EXPECT_NE(files.hint.find("--filter-a"), std::string::npos);
  (void)Refused({"diff", "2h..1h", "1h..", "--wait", "nothing"});
}

}  // namespace
}  // namespace profd::client
