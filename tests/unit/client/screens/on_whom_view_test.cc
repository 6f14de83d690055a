#include "client/screens/summary/on_whom_view.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

using testing::Blocked;
using testing::ProfileMaker;
using testing::Running;

std::string Rendered(const v1::Profile& profile, std::size_t width = 120, bool complete = false,
                     bool color = false) {
  SummaryOptions options;
  options.width = width;
  options.complete = complete;
  options.palette = Palette(color);
  const std::vector<ThreadRow> rows = EachThread(profile);
  return RenderOnWhom(profile, rows.at(0), rows.at(0).name, options);
}

TEST(OnWhomViewTest, SaysWhoWhyAndWhatTheyDo) {
  EXPECT_EQ(Rendered(testing::WaitingProfile()),
            "waits of demo (1.00 s blocked): on whom\n"
            "   62.0 %  lock   engine-worker             runs run > get_device_properties\n"
            "   21.0 %  lock   engine-worker < the disk  run > flush > fsync\n"
            "    9.8 %  sleep  its own timer             main > nanosleep\n"
            "    7.2 %  not followed yet 4.2 %, still waits 2.0 %, wake-up not seen 1.0 %\n");
}

TEST(OnWhomViewTest, LinesFitTheWidthAndColourChangesNone) {
  for (const std::size_t width : {60u, 80u, 120u, 200u}) {
    const std::string plain = Rendered(testing::WaitingProfile(), width);
    std::istringstream lines(plain);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(DisplayWidth(line), std::max<std::size_t>(width, 80)) << line;
    const std::string coloured = Rendered(testing::WaitingProfile(), width, false, true);
    EXPECT_NE(coloured, plain);
    EXPECT_EQ(WithoutColor(coloured), plain);
  }
}

TEST(OnWhomViewTest, OldProfilesHaveNoSuchBlock) {
  EXPECT_EQ(Rendered(testing::SmallProfile()), "");
  EXPECT_EQ(RenderSummary(testing::SmallProfile(), SummaryOptions()).find("on whom"),
            std::string::npos);
}

TEST(OnWhomViewTest, WhoHardlyWaitsHasNoBlock) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto timer = maker.AddPath({{.kind = v1::PATH_TIMER}});
  maker.Add(thread, {"f"}, Running(996, 99));
  maker.Add(thread, {"g"}, Blocked(v1::WAIT_SLEEP, 4, 1, timer));
  EXPECT_EQ(Rendered(maker.Make()), "");
}

TEST(OnWhomViewTest, SharesOfFewSamplesAreMarkedAndSmallOnesSummedUp) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto timer = maker.AddPath({{.kind = v1::PATH_TIMER}});
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_SLEEP, 700, 7, timer));
  for (std::uint32_t i = 0; i < 10; ++i) {
    const std::string name = "peer" + std::string(1, static_cast<char>('a' + i));
    const auto peer = maker.AddPathThread(5000 + i, name);
    maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 30, 3, maker.AddPath({{.thread = peer}})));
  }
  const std::string text = Rendered(maker.Make());
  EXPECT_NE(text.find("~70.0 %  sleep  its own timer"), std::string::npos) << text;
  EXPECT_NE(text.find("   15.0 %  (other paths)\n"), std::string::npos) << text;
  const std::string all = Rendered(maker.Make(), 120, true);
  EXPECT_EQ(all.find("other paths"), std::string::npos) << all;
  EXPECT_NE(all.find("peerj"), std::string::npos) << all;
}

// Two paths of 50 points each with one change between them: an edge weighs 1 % of the time.
TEST(OnWhomViewTest, SharesHaveTheirIntervalWhereItShows) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto disk = maker.AddPath({{.kind = v1::PATH_DISK}});
  const auto timer = maker.AddPath({{.kind = v1::PATH_TIMER}});
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_IO, 500, 50, disk));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_SLEEP, 500, 50, timer));
  v1::Profile profile = maker.Make();
  for (int state = 0; state < 3; ++state) profile.mutable_threads(0)->add_edge_factors(1);
  constexpr std::uint32_t kSet = 32;
  constexpr std::uint32_t kMinus = 16;
  profile.mutable_samples()->add_edges(kSet << 6);
  profile.mutable_samples()->add_edges(kSet | kMinus);
  EXPECT_EQ(Rendered(profile),
            "waits of demo (1.00 s blocked): on whom\n"
            " 50.0 % +-2.2  io     the disk       f\n"
            " 50.0 % +-2.2  sleep  its own timer  f\n");
}

TEST(OnWhomViewTest, EndsAndSignalsAreSaid) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto child = maker.AddPathThread(5001, "sh", 5001, "sh");
  const auto by_end =
      maker.AddPath({{.thread = child, .stack = {"main", "work"}, .how = v1::HOW_EXIT}});
  const auto by_signal =
      maker.AddPath({{.kind = v1::PATH_NO_CPU, .thread = child, .how = v1::HOW_SIGNAL}});
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_CHILD, 700, 70, by_end));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_CHILD, 300, 30, by_signal));
  const std::string text = Rendered(maker.Make());
  EXPECT_NE(text.find("child  sh  its end, runs main > work\n"), std::string::npos) << text;
  EXPECT_NE(text.find("child  sh  its signal, has no CPU\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace profd::client
