#include "client/screens/top/top_screen.h"

#include <gtest/gtest.h>

#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;

// Many threads with long and hostile names.
v1::Profile Crowd() {
  ProfileMaker maker;
  maker.AddProcess(4242, "demo");
  for (std::uint32_t i = 0; i < 100; ++i)
    maker.Add(maker.AddThread(5000 + i, "thread-" + std::to_string(i)),
              {"main\x1b[2J", std::string(300, 'f') + std::to_string(i)},
              {.weight_ns = (100 - i) * 1'000'000u});
  return maker.Make();
}

std::vector<std::string> Screen(const v1::Profile* profile, TopState& state, std::size_t width,
                                std::size_t height, const std::string& note = "") {
  return RenderTopScreen(profile, note, state, {width, height, Palette()});
}

bool Holds(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines)
    if (line.find(text) != std::string::npos) return true;
  return false;
}

TEST(TopScreenTest, FillsTheScreenAndNeverMore) {
  const v1::Profile profile = Crowd();
  for (const TopView view : {TopView::kFunctions, TopView::kThreads, TopView::kProcesses}) {
    for (const std::size_t width : {80u, 132u, 300u}) {
      for (const std::size_t height : {2u, 6u, 24u, 200u}) {
        for (const bool help : {false, true}) {
          TopState state{.view = view, .paused = true, .help = help};
          const auto lines = Screen(&profile, state, width, height);
          ASSERT_EQ(lines.size(), height);
          for (const std::string& line : lines) {
            EXPECT_LE(DisplayWidth(line), width) << line;
            EXPECT_EQ(line, SafeText(line));
          }
        }
      }
    }
  }
}

TEST(TopScreenTest, ShowsTheSplitOfAThread) {
  const v1::Profile profile = testing::SmallProfile();
  TopState state{.view = TopView::kThreads};
  const auto lines = Screen(&profile, state, 80, 24);
  EXPECT_EQ(lines[2], "threads by running, in threads on average");
  EXPECT_EQ(lines[3], "    pid      tid  running  runnable  blocked  on      thread");
  EXPECT_EQ(lines[4], "   4242     4242    0.840     0.010    0.150  lock    demo --fast");
  EXPECT_EQ(lines[5], "   4242     4243    0.000     0.000    1.000  sleep   worker  demo --fast");
  EXPECT_TRUE(
      lines[1].starts_with("0.840 running + 0.010 runnable + 1.150 blocked = 2.000 threads   "))
      << lines[1];
}

TEST(TopScreenTest, SaysWhoEndsMostOfTheBlockedTime) {
  const v1::Profile profile = testing::WaitingProfile();
  TopState state{.view = TopView::kThreads};
  auto lines = Screen(&profile, state, 80, 24);
  EXPECT_EQ(lines[3], "    pid      tid  running  runnable  blocked  on      by          thread");
  EXPECT_EQ(lines[4],
            "   4242     4243    0.564     0.000    0.191  io      [disk]      engine...-fast");
  EXPECT_EQ(lines[5],
            "   4242     4242    0.091     0.000    0.909  lock    engi...ker  demo --fast");
  state.view = TopView::kProcesses;
  lines = Screen(&profile, state, 120, 24);
  EXPECT_TRUE(Holds(lines, "lock    engine-worker     ")) << lines[4];
  for (const TopView view : {TopView::kThreads, TopView::kProcesses, TopView::kFunctions}) {
    state = {.view = view};
    for (const std::string& line : Screen(&profile, state, 80, 24))
      EXPECT_LE(DisplayWidth(line), 80u) << line;
  }
  const v1::Profile old = testing::SmallProfile();
  state = {.view = TopView::kThreads};
  EXPECT_FALSE(Holds(Screen(&old, state, 120, 24), "  by  "));
}

TEST(TopScreenTest, RunningIsWorkingAndSpinning) {
  const v1::Profile profile = testing::SpinningProfile();
  TopState state{.view = TopView::kThreads};
  auto lines = Screen(&profile, state, 90, 24);
  EXPECT_TRUE(
      lines[1].starts_with("0.325 working + 0.200 spinning + 0.000 runnable + 1.475 blocked = "))
      << lines[1];
  EXPECT_EQ(lines[3], "    pid      tid  working  spinning  runnable  blocked  on      thread");
  EXPECT_EQ(lines[4],
            "   4242     4242    0.325     0.200     0.000    0.475  lock    demo --fast");
  EXPECT_EQ(lines[5],
            "   4242     4243    0.000     0.000     0.000    1.000  sleep   worker  demo --fast");
  state = {.view = TopView::kFunctions, .sort = TopSort::kSpinning};
  lines = Screen(&profile, state, 90, 24);
  EXPECT_EQ(lines[2], "functions by spinning, in threads on average   states of themselves");
  EXPECT_EQ(lines[3], "   self    total  working  spinning  runnable  blocked  on      function");
  EXPECT_EQ(lines[4],
            "  0.150    0.150              0.150                             "
            "gomp_barrier_wait");
}

TEST(TopScreenTest, GroupsHaveTheirSizeAndNoNumber) {
  ProfileMaker maker;
  const auto compilers = maker.AddProcess(0, "cc1");
  maker.profile().mutable_processes(static_cast<int>(compilers))->set_group_size(412);
  maker.Add(maker.AddThread(0, "cc1", compilers), {"main"});
  maker.profile().mutable_threads(0)->set_group_size(412);
  maker.Add(maker.AddThread(0, "request"), {"main"});
  maker.profile().mutable_threads(1)->set_group_size(90);
  v1::Profile profile = maker.Make();
  for (v1::Thread& thread : *profile.mutable_threads()) thread.set_elapsed_ns(10'000'000);
  TopState threads{.view = TopView::kThreads};
  auto lines = Screen(&profile, threads, 80, 24);
  EXPECT_TRUE(
      Holds(lines, "   4242             1.000     0.000    0.000          request x 90  demo"));
  EXPECT_TRUE(Holds(lines, "                    1.000     0.000    0.000          cc1 x 412"));
  TopState processes{.view = TopView::kProcesses};
  lines = Screen(&profile, processes, 80, 24);
  EXPECT_TRUE(Holds(lines, "           1.000     0.000    0.000              412  cc1 x 412"))
      << lines[4];
}

TEST(TopScreenTest, MarksSharesThatRestOnFewSamples) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"often"}, {.weight_ns = 900'000'000, .count = 90});
  maker.Add(thread, {"rare"}, {.weight_ns = 100'000'000, .count = 9});
  const v1::Profile profile = maker.Make();
  TopState state{.view = TopView::kFunctions};
  const auto lines = Screen(&profile, state, 80, 24);
  EXPECT_TRUE(lines[4].starts_with("  0.900    0.900    0.900")) << lines[4];
  EXPECT_TRUE(lines[5].starts_with(" ~0.100   ~0.100   ~0.100")) << lines[5];
}

TEST(TopScreenTest, SharesOfFunctionsHaveIntervals) {
  const v1::Profile profile = testing::SampledProfile();
  TopState state{.view = TopView::kFunctions, .sort = TopSort::kSelf};
  auto lines = Screen(&profile, state, 120, 24);
  EXPECT_TRUE(lines[4].starts_with("0.600 +-0.022  0.600 +-0.022  ")) << lines[4];
  EXPECT_TRUE(Holds(lines, "1.000    ")) << "all of main is exact";
  EXPECT_TRUE(Screen(&profile, state, 80, 24)[4].starts_with("0.600 +-0.022    0.600  "));
  state.total = true;
  lines = Screen(&profile, state, 80, 24);
  EXPECT_TRUE(Holds(lines, "0.600  0.600 +-0.022 "));
}

TEST(TopScreenTest, MovesToTheEndAndNotBeyond) {
  const v1::Profile profile = Crowd();
  TopState state{.view = TopView::kThreads, .first_row = 1'000'000};
  const auto lines = Screen(&profile, state, 80, 24);
  EXPECT_EQ(state.first_row, 100 - TopPage(24));
  EXPECT_TRUE(Holds(lines, "thread-99"));
  EXPECT_FALSE(Holds(lines, "thread-0 "));
}

TEST(TopScreenTest, SaysWhatIsFilteredTypedAndNoted) {
  const v1::Profile profile = Crowd();
  TopState state{.view = TopView::kThreads, .filter = "thread-7"};
  auto lines = Screen(&profile, state, 80, 24);
  EXPECT_EQ(lines[2], "threads by running, in threads on average   filter: thread-7");
  EXPECT_TRUE(Holds(lines, "thread-79"));
  EXPECT_FALSE(Holds(lines, "thread-80"));
  EXPECT_TRUE(lines.back().starts_with("[f]unctions"));
  state.typing_filter = true;
  EXPECT_EQ(Screen(&profile, state, 80, 24).back(), "filter: thread-7_");
  state.typing_filter = false;
  EXPECT_EQ(Screen(&profile, state, 80, 24, "the target has exited").back(),
            "the target has exited");
}

TEST(TopScreenTest, BeforeTheFirstTable) {
  TopState state;
  const auto lines = Screen(nullptr, state, 80, 24);
  ASSERT_EQ(lines.size(), 24u);
  EXPECT_TRUE(Holds(lines, "the first table"));
}

TEST(TopScreenTest, ColoursDistinguishStatesAndCanBeLeftOut) {
  const v1::Profile profile = testing::SmallProfile();
  TopState state;
  const auto colored = RenderTopScreen(&profile, "", state, {80, 24, Palette(true)});
  EXPECT_TRUE(Holds(colored, "\x1b[32m"));
  EXPECT_TRUE(Holds(colored, "\x1b[36m"));
  EXPECT_FALSE(Holds(Screen(&profile, state, 80, 24), "\x1b"));
}

TEST(TopScreenTest, BlocksEndInAnEmptyLineAndAreCutUnlessComplete) {
  const v1::Profile profile = Crowd();
  const TopState state{.view = TopView::kThreads};
  const std::string block = RenderTopBlock(profile, state, 120, Palette(), false);
  EXPECT_TRUE(block.ends_with("\n\n"));
  EXPECT_NE(block.find("50 of 100"), std::string::npos);
  EXPECT_EQ(block.find("thread-99"), std::string::npos);
  EXPECT_NE(RenderTopBlock(profile, state, 120, Palette(), true).find("thread-99"),
            std::string::npos);
}

}  // namespace
}  // namespace profd::client
