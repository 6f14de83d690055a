#include "client/screens/summary/summary.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

std::string Rendered(const v1::Profile& profile, std::size_t width, bool color = false,
                     bool complete = false) {
  SummaryOptions options;
  options.width = width;
  options.palette = Palette(color);
  options.complete = complete;
  return RenderSummary(profile, options);
}

// A server with its pool, a child process and threads that come and go.
v1::Profile ServerProfile() {
  using testing::Blocked;
  using testing::Running;
  testing::ProfileMaker maker;
  maker.profile().set_target("pid 4242 +children");
  const std::uint32_t child = maker.AddProcess(4300, "worker\x1b[31m", "worker --spool /var/spool");
  const auto main = maker.AddThread(4242, "demo");
  maker.Add(main,
            {"_start", "main", "serve", "epoll_wait", "entry_SYSCALL_64_after_hwframe_[k]",
             "do_syscall_64_[k]", "__x64_sys_epoll_wait_[k]", "ep_poll_[k]", "schedule_[k]"},
            Blocked(v1::WAIT_POLL, 9'400, 930));
  maker.Add(main, {"_start", "main", "serve", "handle", "parse_request"}, Running(420, 42));
  maker.Add(main, {"_start", "main", "serve", "handle", "write_answer", "fsync_[k]"},
            Blocked(v1::WAIT_IO, 180, 7));
  for (std::uint32_t i = 1; i <= 6; ++i) {
    const auto pool = maker.AddThread(4242 + i, "pool-" + std::to_string(i));
    maker.Add(pool, {"clone3", "start_thread", "pool::Run", "pthread_cond_wait", "futex_wait_[k]"},
              Blocked(v1::WAIT_LOCK, 9'990, 990));
    maker.Add(pool, {"clone3", "start_thread", "pool::Run", "pool::Task"}, Running(10, 1));
  }
  const auto worker = maker.AddThread(4300, "a-worker-with-a-name-that-is-long", child);
  maker.Add(worker, {"main", "Spool::Scan", "std::map<std::string, Row>::operator[]"},
            Running(2'500, 247));
  maker.Add(worker, {"main", "Spool::Scan", "Spool::Read"}, testing::Runnable(400, 39));
  v1::Profile profile = maker.Make();
  v1::Thread& late = *profile.mutable_threads(7);
  late.set_began(true);
  v1::NamedCount& dropped = *profile.add_dropped();
  dropped.set_name("names");
  dropped.set_text("no room for more names");
  dropped.set_count(1'234);
  v1::NamedCount& note = *profile.add_counters();
  note.set_name("stack_cut");
  note.set_text("stacks with more frames than are kept");
  note.set_count(17);
  profile.set_daemon_cpu_ns(50'000'000);
  profile.set_bpf_ns(11'000'000);
  return profile;
}

TEST(SummaryTest, GoldensAtThreeWidths) {
  for (const std::size_t width : {80u, 120u, 200u}) {
    const std::string suffix = "_" + std::to_string(width) + ".txt";
    ExpectGolden(Rendered(testing::SmallProfile(), width), "small" + suffix);
    ExpectGolden(Rendered(testing::TypicalProfile(), width), "typical" + suffix);
    ExpectGolden(Rendered(ServerProfile(), width), "server" + suffix);
  }
}

TEST(SummaryTest, GoldensInColor) {
  for (const std::size_t width : {80u, 120u, 200u}) {
    const std::string suffix = "_" + std::to_string(width) + "_color.txt";
    ExpectGolden(Rendered(ServerProfile(), width, true), "server" + suffix);
  }
}

TEST(SummaryTest, CompleteShowsTheNotes) {
  ExpectGolden(Rendered(ServerProfile(), 120, false, true), "server_120_complete.txt");
}

TEST(SummaryTest, ColorChangesNoText) {
  for (const std::size_t width : {40u, 80u, 120u, 200u})
    EXPECT_EQ(WithoutColor(Rendered(ServerProfile(), width, true)),
              Rendered(ServerProfile(), width));
}

TEST(SummaryTest, FitsTheTerminal) {
  for (const v1::Profile& profile :
       {testing::SmallProfile(), testing::TypicalProfile(), ServerProfile(),
        testing::HostileProfile(), testing::LargeProfile(3'000),
        testing::ManyThreadsProfile(300)}) {
    for (const std::size_t width : {80u, 100u, 120u, 200u}) {
      std::istringstream lines(Rendered(profile, width));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(DisplayWidth(line), width) << line;
        EXPECT_EQ(SafeText(line), line);
      }
    }
  }
}

TEST(SummaryTest, ManyThreadsAreCutAndCounted) {
  testing::ProfileMaker maker;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    const auto thread = maker.AddThread(5000 + i, std::string(1 + i / 26, letter));
    maker.Add(thread, {"run"}, {.weight_ns = 1'000'000'000 - i * 1'000'000, .count = 99});
  }
  const v1::Profile profile = maker.Make();
  const std::string text = Rendered(profile, 100);
  EXPECT_NE(text.find("and 80 more threads: running 100.0 %, runnable 0.0 %, blocked 0.0 %"),
            std::string::npos)
      << text;
  EXPECT_EQ(Rendered(profile, 100, false, true).find("more threads:"), std::string::npos);
}

TEST(SummaryTest, RunningIsWorkingAndSpinning) {
  const v1::Profile profile = testing::SpinningProfile();
  const std::string text = Rendered(profile, 100);
  EXPECT_NE(text.find("thread    tid   working   spinning   runnable   blocked   on"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("demo     4242    32.5 %     20.0 %      0.0 %    47.5 %   lock 47.5 %"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("worker   4243     0.0 %      0.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("main > gomp_barrier_wait       spinning\n"), std::string::npos) << text;
  EXPECT_NE(text.find("main > compute                 working\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("rule "), std::string::npos) << text;
  const std::string complete = Rendered(profile, 100, false, true);
  EXPECT_NE(complete.find("rule    300 ms  spin: function 'gomp_.*' (rules.toml:1)\n"
                          "rule    100 ms  gpu-wait: function 'cuda.*' (rules.toml:2)\n"),
            std::string::npos)
      << complete;
}

TEST(SummaryTest, StolenTimeIsShownWhereItIsMoreThanHalfAPercent) {
  testing::ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "spinner"), {"main"}, testing::Running(1000));
  v1::Profile profile = maker.Make();
  auto& clock = *profile.mutable_threads(0)->mutable_clock();
  clock.set_on_cpu_ns(996'000'000);
  clock.set_stolen_exact_ns(4'000'000);
  std::string text = Rendered(profile, 80);
  EXPECT_EQ(text.find("stolen"), std::string::npos) << text;
  EXPECT_NE(text.find("100.0 %"), std::string::npos) << "it is part of running: " << text;
  clock.set_on_cpu_ns(880'000'000);
  clock.set_stolen_exact_ns(120'000'000);
  text = Rendered(profile, 80);
  EXPECT_NE(text.find("running   stolen"), std::string::npos) << text;
  EXPECT_NE(text.find("88.0 %   12.0 %"), std::string::npos) << text;
  clock.set_stolen_exact_ns(0);
  clock.set_stolen_spread_ns(120'000'000);
  EXPECT_NE(Rendered(profile, 80).find("88.0 %   ~12.0 %"), std::string::npos);
}

TEST(SummaryTest, AProfileWithoutSamplesStillShowsItsClocks) {
  v1::Profile profile = testing::EmptyProfile();
  profile.set_end_ns(profile.start_ns() + 1'000'000'000);
  profile.mutable_threads(0)->set_end_ns(profile.end_ns());
  profile.mutable_threads(0)->mutable_clock()->set_blocked_interruptible_ns(1'000'000'000);
  const std::string text = Rendered(profile, 80);
  EXPECT_NE(text.find("0 samples, 0 lost"), std::string::npos) << text;
  EXPECT_NE(text.find("100.0 %"), std::string::npos) << text;
}

// Two waits of 50 points each with one change between them: an edge weighs 1 % of the time.
TEST(SummaryTest, PathsHaveTheirIntervalWhereItShows) {
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "read_input"}, testing::Blocked(v1::WAIT_IO, 500, 50));
  maker.Add(thread, {"main", "sleep"}, testing::Blocked(v1::WAIT_SLEEP, 500, 50));
  v1::Profile profile = maker.Make();
  EXPECT_EQ(Rendered(profile, 80).find("+-"), std::string::npos) << "it is not known";
  for (int state = 0; state < 3; ++state) profile.mutable_threads(0)->add_edge_factors(1);
  constexpr std::uint32_t kSet = 32;
  constexpr std::uint32_t kMinus = 16;
  profile.mutable_samples()->add_edges(kSet << 6);
  profile.mutable_samples()->add_edges(kSet | kMinus);
  // 2.23 standard errors of 1 %; Wilson's rule changes less than the digit that shows.
  const std::string text = Rendered(profile, 80);
  EXPECT_NE(text.find("50.0 % +-2.2  main > read_input"), std::string::npos) << text;
  EXPECT_NE(text.find("50.0 % +-2.2  main > sleep"), std::string::npos) << text;
  profile.mutable_threads(0)->set_edge_factors(v1::STATE_BLOCKED, 0.01);
  EXPECT_EQ(Rendered(profile, 80).find("+-"), std::string::npos) << "less than the last digit";
}

TEST(SummaryTest, TheFooterIsTheLastLine) {
  SummaryOptions options;
  options.footer = "what to do next";
  EXPECT_TRUE(RenderSummary(testing::SmallProfile(), options).ends_with("\nwhat to do next\n"));
}

TEST(ProfileTitleTest, NamesTheProcessOrTheTarget) {
  EXPECT_EQ(ProfileTitle(testing::SmallProfile()), "/usr/bin/demo --fast (4242)");
  EXPECT_EQ(ProfileTitle(ServerProfile()), "pid 4242 +children");
}

TEST(SummaryTest, SnapshotModeIsNamed) {
  v1::Profile profile = testing::TypicalProfile();
  constexpr std::string_view kNote = "\nnote    snapshot mode: waits are sampled, not measured\n";
  EXPECT_EQ(Rendered(profile, 80, false, false).find("snapshot mode"), std::string::npos);
  profile.set_hook("none (snapshots)");
  EXPECT_NE(Rendered(profile, 80, false, false).find(kNote), std::string::npos);
}

TEST(SummaryTest, StacksByFramePointerAreSaidWhereTheyAreMoreThanAHundredth) {
  constexpr const char* kNote =
      "note    17 of 117 stacks go on by frame pointer\n"
      "        where code has no unwind rules: callers beyond may be wrong or missing\n";
  EXPECT_NE(Rendered(testing::FramePointerProfile(100, 17), 80, false, false).find(kNote),
            std::string::npos)
      << Rendered(testing::FramePointerProfile(100, 17), 80, false, false);
  EXPECT_EQ(Rendered(testing::FramePointerProfile(990, 10), 80, false, false).find("frame pointer"),
            std::string::npos);
  EXPECT_NE(Rendered(testing::FramePointerProfile(990, 10), 80, false, true)
                .find("10 of 1,000 stacks go on by frame pointer"),
            std::string::npos)
      << Rendered(testing::FramePointerProfile(990, 10), 80, false, true);
  EXPECT_EQ(Rendered(testing::FramePointerProfile(100, 0), 80, false, true).find("frame pointer"),
            std::string::npos);
}

}  // namespace
}  // namespace profd::client
