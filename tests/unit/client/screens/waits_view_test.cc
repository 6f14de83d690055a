#include "client/screens/waits/waits_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "client/screens/json/screen_json.h"
#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

using testing::Blocked;
using testing::ProfileMaker;

std::string Rendered(const v1::Profile& profile, std::size_t width = 120, bool complete = false) {
  return RenderWaits(profile, {.width = width, .palette = Palette(), .complete = complete});
}

TEST(WaitsViewTest, MatchesItsGolden) {
  for (const std::size_t width : {80u, 120u})
    ExpectGolden(Rendered(testing::WaitingProfile(), width),
                 "waits_" + std::to_string(width) + ".txt");
}

TEST(WaitsViewTest, ColourChangesNoText) {
  const std::string plain = Rendered(testing::WaitingProfile());
  const std::string coloured =
      RenderWaits(testing::WaitingProfile(), {.width = 120, .palette = Palette(true)});
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(WithoutColor(coloured), plain);
}

TEST(WaitsViewTest, LinesFitTheWidth) {
  for (const std::size_t width : {80u, 100u, 200u}) {
    std::istringstream lines(Rendered(testing::WaitingProfile(), width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

TEST(WaitsViewTest, LightRowsAreSummedUp) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto often = maker.AddPath({{.thread = maker.AddPathThread(1, "often")}});
  const auto rare = maker.AddPath({{.thread = maker.AddPathThread(2, "rare")}});
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 9'999, 999, often));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 1, 1, rare));
  const std::string text = Rendered(maker.Make());
  EXPECT_EQ(text.find("rare"), std::string::npos);
  EXPECT_NE(text.find("... and 1 more, 1.00 ms; -v shows all\n"), std::string::npos) << text;
  EXPECT_NE(Rendered(maker.Make(), 120, true).find("rare"), std::string::npos);
}

TEST(WaitsViewTest, KnotsAreNamed) {
  ProfileMaker maker;
  const auto a = maker.AddThread(1, "a");
  const auto b = maker.AddThread(2, "b");
  const auto by_b = maker.AddPath({{.thread = maker.AddPathThread(2, "b")}});
  const auto by_a = maker.AddPath({{.thread = maker.AddPathThread(1, "a")}});
  maker.Add(a, {"f"}, Blocked(v1::WAIT_LOCK, 10, 1, by_b));
  maker.Add(b, {"f"}, Blocked(v1::WAIT_LOCK, 10, 1, by_a));
  EXPECT_TRUE(Rendered(maker.Make()).ends_with("\nwait for each other: a, b\n"));
}

TEST(WaitsViewTest, JsonHasEveryRow) {
  const auto json = nlohmann::json::parse(WaitsJson(testing::WaitingProfile()));
  EXPECT_EQ(json["blocked_ns"], 1'210'000'000u);
  EXPECT_TRUE(json["knots"].empty());
  ASSERT_EQ(json["rows"].size(), 6u);
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["waiter"], "demo");
  EXPECT_EQ(row["reason"], "lock");
  EXPECT_EQ(row["ended_by"], "engine-worker");
  EXPECT_EQ(row["ns"], 830'000'000u);
  EXPECT_DOUBLE_EQ(row["share"].get<double>(), 0.83);
  EXPECT_EQ(row["waits"], 83u);
  EXPECT_EQ(row["spurious"], 2u);
  ASSERT_EQ(row["ends"].size(), 2u);
  EXPECT_EQ(row["ends"][0]["how"], "runs");
  EXPECT_EQ(row["ends"][1]["at"], "[disk]");
  EXPECT_EQ(row["ends"][1]["ns"], 210'000'000u);
}

}  // namespace
}  // namespace profd::client
