#include "client/profile/path_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ProfileMaker;
using testing::StepSpec;

std::vector<std::string> Names(const v1::Profile& profile, std::uint32_t path,
                               PathDetail detail = PathDetail::kSteps, std::uint32_t pid = 4242) {
  std::vector<std::string> names;
  for (const PathFrame& frame : PathFramesOf(profile, path, pid, detail)) {
    names.push_back(frame.name);
    if (frame.stack == 0) continue;
    const v1::StackNode& leaf = profile.nodes(static_cast<int>(frame.stack) - 1);
    names.push_back("... " + profile.frames(static_cast<int>(leaf.frame())).name());
  }
  return names;
}

TEST(PathFrames, AFrameForEachStepAndTheEnd) {
  ProfileMaker maker;
  const auto b = maker.AddPathThread(2, "b");
  const auto c = maker.AddPathThread(3, "c");
  const StepSpec waits{.kind = v1::PATH_WAITS, .thread = b, .wait = v1::WAIT_LOCK};
  const auto runs = maker.AddPath({waits, {.thread = c}});
  const auto timer = maker.AddPath({waits, {.kind = v1::PATH_TIMER}});
  EXPECT_THAT(Names(maker.profile(), runs),
              ElementsAre("--", "[waits for b]", "[waits for c]", "[runs]"));
  EXPECT_THAT(Names(maker.profile(), timer), ElementsAre("--", "[waits for b]", "[timer]"));
  EXPECT_THAT(Names(maker.profile(), 1), ElementsAre("--", "[waits for b]"));
  EXPECT_THAT(Names(maker.profile(), 0), IsEmpty());
  EXPECT_THAT(Names(maker.profile(), runs, PathDetail::kNone), IsEmpty());
}

TEST(PathFrames, EachEndHasAName) {
  const std::pair<v1::PathKind, const char*> kEnds[] = {
      {v1::PATH_NONE, "[not sampled]"},
      {v1::PATH_RUNS, "[runs]"},
      {v1::PATH_NO_CPU, "[no CPU]"},
      {v1::PATH_TIMER, "[timer]"},
      {v1::PATH_DISK, "[disk]"},
      {v1::PATH_NET, "[net]"},
      {v1::PATH_INTERRUPT, "[device]"},
      {v1::PATH_STILL_WAITS, "[still waits]"},
      {v1::PATH_NOT_FOLLOWED, "[not followed yet]"},
      {v1::PATH_NOT_SEEN, "[wake-up not seen]"},
      {v1::PATH_LOST, "[samples lost]"},
      {v1::PATH_OTHER_USER, "[another user]"},
      {v1::PATH_TOO_LONG, "[path too long]"},
      {v1::PATH_NOT_EXPORTED, "[not exported]"},
      {static_cast<v1::PathKind>(99), "[unknown]"}};
  EXPECT_EQ(std::size(kEnds), v1::PathKind_ARRAYSIZE) << "all kinds but PATH_WAITS, and another";
  for (const auto& [kind, name] : kEnds) {
    ProfileMaker maker;
    EXPECT_THAT(Names(maker.profile(), 0), IsEmpty());
    const auto path = maker.AddPath({{.kind = kind}});
    EXPECT_THAT(Names(maker.profile(), path), ElementsAre("--", name));
    const auto of_thread = maker.AddPath({{.kind = kind, .thread = maker.AddPathThread(2, "b")}});
    EXPECT_THAT(Names(maker.profile(), of_thread), ElementsAre("--", "[waits for b]", name));
  }
}

TEST(PathFrames, StacksOfEachStepAndAMarkAtEstimates) {
  ProfileMaker maker;
  const StepSpec b{.kind = v1::PATH_WAITS,
                   .thread = maker.AddPathThread(2, "b"),
                   .stack = {"main", "lock"},
                   .wait = v1::WAIT_LOCK};
  const StepSpec c{.thread = maker.AddPathThread(3, "c"), .stack = {"main", "compute"}};
  StepSpec guessed = c;
  guessed.estimated = true;
  const StepSpec disk{.kind = v1::PATH_DISK, .stack = {"irq_[k]"}};
  const auto stacks = PathDetail::kStacks;
  EXPECT_THAT(
      Names(maker.profile(), maker.AddPath({b, c}), stacks),
      ElementsAre("--", "[waits for b]", "... lock", "[waits for c]", "... compute", "[runs]"));
  EXPECT_THAT(
      Names(maker.profile(), maker.AddPath({b, guessed}), stacks),
      ElementsAre("--", "[waits for b]", "... lock", "[waits for c]", "... compute", "[runs ~]"));
  EXPECT_THAT(Names(maker.profile(), maker.AddPath({b, guessed})),
              ElementsAre("--", "[waits for b]", "[waits for c]", "[runs]"))
      << "without a stack nothing is estimated";
  EXPECT_THAT(Names(maker.profile(), maker.AddPath({b, disk}), stacks),
              ElementsAre("--", "[waits for b]", "... lock", "[disk]"))
      << "an interrupt is no thread";
}

TEST(PathFrames, AQueueIsOneFrameButHasAllItsStacks) {
  ProfileMaker maker;
  std::vector<StepSpec> steps;
  for (std::uint32_t i = 1; i <= 2; ++i)
    steps.push_back({.kind = v1::PATH_WAITS,
                     .thread = maker.AddPathThread(i, "pool-" + std::to_string(i)),
                     .stack = {"lock"}});
  steps.push_back({.thread = maker.AddPathThread(9, "pool-3"), .stack = {"compute"}});
  const auto path = maker.AddPath(steps);
  EXPECT_THAT(Names(maker.profile(), path), ElementsAre("--", "[waits for pool-*]", "[runs]"));
  EXPECT_THAT(Names(maker.profile(), path, PathDetail::kStacks),
              ElementsAre("--", "[waits for pool-*]", "... lock", "[waits for pool-*]", "... lock",
                          "[waits for pool-*]", "... compute", "[runs]"));
}

TEST(PathFrames, NamesSayOtherProcessesAndHow) {
  ProfileMaker maker;
  const auto io = maker.AddPathThread(8, "io;\n", 77, "store");
  const auto path = maker.AddPath({{.thread = io, .how = v1::HOW_EXIT}});
  EXPECT_THAT(Names(maker.profile(), path),
              ElementsAre("--", "[waits for store/io:?: its end]", "[runs]"));
  EXPECT_THAT(Names(maker.profile(), path, PathDetail::kSteps, 77),
              ElementsAre("--", "[waits for io:?: its end]", "[runs]"));
  const auto signal = maker.AddPath({{.thread = io, .how = v1::HOW_SIGNAL}});
  EXPECT_THAT(Names(maker.profile(), signal, PathDetail::kStacks, 77),
              ElementsAre("--", "[waits for io:?: its signal]", "[runs]"));
}

}  // namespace
}  // namespace profd::client
