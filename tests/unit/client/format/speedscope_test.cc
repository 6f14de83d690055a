#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::ProfileMaker;

const Exporter kSpeedscope = **ExporterByName("speedscope");

json Parsed(const v1::Profile& profile, const ExportOptions& options = {}) {
  return json::parse(Written(kSpeedscope, profile, options));
}

std::vector<std::string> Names(const json& file, const json& stack) {
  std::vector<std::string> names;
  for (const json& frame : stack)
    names.push_back(file["shared"]["frames"][frame.get<std::size_t>()]["name"]);
  return names;
}

TEST(Speedscope, MatchesItsGolden) {
  ExpectGolden(Written(kSpeedscope, testing::SmallProfile()), "small.speedscope.json");
}

TEST(Speedscope, AProfilePerThreadInOrderOfTime) {
  const v1::Profile profile = testing::SmallProfile();
  const json file = Parsed(profile);
  ASSERT_EQ(file["profiles"].size(), 2u);
  const json& main = file["profiles"][0];
  EXPECT_EQ(main["name"], "demo (4242) / demo (4242)");
  EXPECT_EQ(main["unit"], "nanoseconds");
  EXPECT_EQ(main["weights"], json({1'500'000'400, 20'000'000, 300'000'000, 179'999'600}));
  EXPECT_EQ(main["endValue"], 2'000'000'000);
  EXPECT_THAT(Names(file, main["samples"][2]),
              ElementsAre("_start", "main", "wait", "futex_wait_[k]", "[blocked:lock]"));
  EXPECT_THAT(Names(file, main["samples"][3]), ElementsAre("_start", "main", "compute"));
  EXPECT_EQ(file["activeProfileIndex"], 0);
}

TEST(Speedscope, StacksThatSpinSaySo) {
  const json file = Parsed(testing::SpinningProfile());
  const json& main = file["profiles"][0];
  EXPECT_THAT(Names(file, main["samples"][0]), ElementsAre("main", "compute"));
  EXPECT_THAT(Names(file, main["samples"][1]),
              ElementsAre("main", "gomp_barrier_wait", "[spinning]"));
  EXPECT_THAT(Names(file, main["samples"][3]), ElementsAre("main", "malloc"));
}

TEST(Speedscope, OnWhomAThreadWaits) {
  const json plain = Parsed(testing::WaitingProfile());
  const json steps = Parsed(testing::WaitingProfile(), {.on_whom = PathDetail::kSteps});
  const json stacks = Parsed(testing::WaitingProfile(), {.on_whom = PathDetail::kStacks});
  EXPECT_THAT(
      Names(plain, plain["profiles"][0]["samples"][1]),
      ElementsAre("main", "Tensor.numpy (tensor.py:31)", "futex_wait_[k]", "[blocked:lock]"));
  EXPECT_THAT(Names(steps, steps["profiles"][0]["samples"][1]),
              ElementsAre("main", "Tensor.numpy (tensor.py:31)", "futex_wait_[k]", "[blocked:lock]",
                          "--", "[waits for engine-worker]", "[runs]"));
  EXPECT_THAT(
      Names(stacks, stacks["profiles"][0]["samples"][3]),
      ElementsAre("main", "Tensor.numpy (tensor.py:31)", "futex_wait_[k]", "[blocked:lock]", "--",
                  "[waits for engine-worker]", "run", "flush", "fsync_[k]", "[disk]"));
  for (const json* file : {&steps, &stacks}) {
    EXPECT_EQ((*file)["profiles"][0]["endValue"], plain["profiles"][0]["endValue"]);
    std::uint64_t sum = 0;
    for (const json& weight : (*file)["profiles"][0]["weights"]) sum += weight.get<std::uint64_t>();
    EXPECT_EQ(sum, plain["profiles"][0]["endValue"]);
  }
  EXPECT_EQ(Parsed(testing::SmallProfile(), {.on_whom = PathDetail::kStacks}),
            Parsed(testing::SmallProfile()));
}

TEST(Speedscope, TimeOrderHoldsWhateverTheOrderOfSamples) {
  v1::Profile profile = testing::SmallProfile();
  const json ordered = Parsed(profile);
  v1::Samples& samples = *profile.mutable_samples();
  samples.mutable_time_ns()->SwapElements(0, 3);
  samples.mutable_weight_ns()->SwapElements(0, 3);
  samples.mutable_node()->SwapElements(0, 3);
  EXPECT_EQ(Parsed(profile), ordered);
}

TEST(Speedscope, EqualNeighboursAreOneAndOthersAreNot) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  const auto add = [&](std::uint64_t offset, v1::State state) {
    v1::Frame frame = testing::FrameFromText("f");
    frame.set_offset(offset);  // another place in the same function
    maker.AddFrames(thread, {frame}, {.weight_ns = 10, .state = state});
  };
  add(1, v1::STATE_ON_CPU);
  add(2, v1::STATE_ON_CPU);
  add(1, v1::STATE_BLOCKED);
  add(1, v1::STATE_ON_CPU);
  const json file = Parsed(maker.Make());
  EXPECT_EQ(file["profiles"][0]["weights"], json({20, 10, 10}));
  EXPECT_EQ(file["shared"]["frames"].size(), 2u);  // f, [blocked]
}

TEST(Speedscope, ALineIsGivenOnlyWhereItIsTheOnlyOne) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  v1::Frame once = testing::FrameFromText("once");
  once.set_file("a.cc");
  once.set_line(7);
  v1::Frame twice = testing::FrameFromText("twice");
  twice.set_file("a.cc");
  twice.set_line(8);
  maker.AddFrames(thread, {once, twice});
  twice.set_line(9);
  maker.AddFrames(thread, {once, twice});
  const json frames = Parsed(maker.Make())["shared"]["frames"];
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0]["line"], 7);
  EXPECT_FALSE(frames[1].contains("line"));
}

TEST(Speedscope, WeightsOfEachThreadAddUpToItsClock) {
  const v1::Profile profile = testing::LargeProfile(4000);
  const json file = Parsed(profile);
  ASSERT_EQ(file["profiles"].size(), static_cast<std::size_t>(profile.threads_size()));
  for (int i = 0; i < profile.threads_size(); ++i) {
    const json& thread = file["profiles"][static_cast<std::size_t>(i)];
    const std::uint64_t sum =
        std::accumulate(thread["weights"].begin(), thread["weights"].end(), std::uint64_t{0},
                        [](std::uint64_t total, const json& weight) {
                          return total + weight.get<std::uint64_t>();
                        });
    EXPECT_EQ(sum, profile.threads(i).end_ns() - profile.threads(i).begin_ns());
    EXPECT_EQ(thread["endValue"], sum);
    EXPECT_EQ(thread["samples"].size(), thread["weights"].size());
  }
}

TEST(Speedscope, ShowsTheBusiestThreadAtFirst) {
  const json file = Parsed(testing::TypicalProfile());
  EXPECT_EQ(file["profiles"][0]["name"], "python3 (4242) / MainThread (4242)");
  EXPECT_EQ(file["activeProfileIndex"], 0);  // ran 1.72 s, topk-worker 1.41 s
  ProfileMaker maker;
  maker.Add(maker.AddThread(1, "lazy"), {"f"}, {.weight_ns = 5});
  maker.Add(maker.AddThread(2, "busy"), {"f"}, {.weight_ns = 6});
  EXPECT_EQ(Parsed(maker.Make())["activeProfileIndex"], 1);
}

TEST(Speedscope, ThreadsWithoutSamplesAreLeftOut) {
  ProfileMaker maker;
  maker.AddThread(1, "silent");
  maker.Add(maker.AddThread(2, "heard"), {"f"});
  const json file = Parsed(maker.Make());
  ASSERT_EQ(file["profiles"].size(), 1u);
  EXPECT_EQ(file["profiles"][0]["name"], "demo (4242) / heard (2)");
  EXPECT_EQ(Parsed(testing::EmptyProfile())["profiles"].size(), 1u);
}

TEST(Speedscope, HostileNamesStayNames) {
  const json file = Parsed(testing::HostileProfile());
  EXPECT_EQ(file["profiles"].size(), testing::HostileNames().size());
  EXPECT_EQ(Parsed(testing::SmallProfile(), {.title = "a\"b\n"})["name"], "a\"b?");
}

}  // namespace
}  // namespace profd::client
