#include "client/profile/diff.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "client/format/diff_svg.h"
#include "client/format/diff_text.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

Diff Built(const v1::Profile& a, const v1::Profile& b, DiffOptions options = {}) {
  options.a_name = "a.json";
  options.b_name = "b.json";
  Result<Diff> diff = Diff::Build(a, b, options);
  EXPECT_TRUE(diff) << (diff ? "" : diff.error().message);
  return diff ? *std::move(diff) : Diff{};
}

Diff Small(const DiffOptions& options = {}) {
  return Built(testing::SmallProfile(), testing::SmallProfileLater(), options);
}

std::string Folded(const Diff& diff) {
  std::ostringstream out;
  EXPECT_TRUE(WriteDiffFolded(diff, out));
  return out.str();
}

nlohmann::json Json(const Diff& diff) {
  std::ostringstream out;
  EXPECT_TRUE(WriteDiffJson(diff, out));
  return nlohmann::json::parse(out.str());
}

std::uint64_t WeightOf(const v1::Profile& profile) {
  const auto& weights = profile.samples().weight_ns();
  return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
}

std::map<std::string, DiffFunction> ByName(const Diff& diff, KernelFunctions kernel) {
  std::map<std::string, DiffFunction> functions;
  for (DiffFunction& function : DiffFunctions(diff, kernel))
    functions.emplace(function.name, function);
  return functions;
}

constexpr std::uint64_t kMs = 1'000'000;

DiffTime Sampled(std::uint64_t a_ns, std::uint64_t b_ns, std::uint64_t a_count,
                 std::uint64_t b_count) {
  return {a_ns, b_ns, a_count, b_count, 0, 0, {}, {}};
}

TEST(Diff, ScaledTimesAddUpToTheScaledSum) {
  const std::vector<std::uint64_t> thirds = ScaleToSum({1, 1, 1, 1, 1, 1}, 1, 3);
  EXPECT_EQ(std::accumulate(thirds.begin(), thirds.end(), std::uint64_t{0}), 2u);
  const std::uint64_t day = 86'400'000'000'000u;
  EXPECT_EQ(ScaleToSum({day, 0, day + 1}, day, day - 1),
            (std::vector<std::uint64_t>{day + 1, 0, day + 2}));
  EXPECT_TRUE(ScaleToSum({}, 1, 2).empty());
}

TEST(Diff, PathsArePartOfTheTreeOnRequest) {
  const v1::Profile a = testing::WaitingProfile();
  v1::Profile b = a;
  const Diff plain = Built(a, b);
  EXPECT_EQ(Folded(plain).find("--"), std::string::npos);
  for (const PathDetail detail : {PathDetail::kSteps, PathDetail::kStacks}) {
    const Diff diff = Built(a, b, {.on_whom = detail});
    EXPECT_NE(Folded(diff).find("[blocked:lock];--;[waits for engine-worker];"), std::string::npos);
    EXPECT_EQ(diff.total[0].a_ns, WeightOf(a));
    // States and functions are what they are without.
    nlohmann::json with = Json(diff);
    nlohmann::json without = Json(plain);
    EXPECT_EQ(with["states"], without["states"]);
    EXPECT_EQ(with["functions"], without["functions"]);
    EXPECT_GT(with["stacks"].size(), without["stacks"].size());
  }
  // One side of before.
  const Diff mixed = Built(testing::SmallProfile(), a, {.on_whom = PathDetail::kStacks});
  EXPECT_EQ(mixed.total[0].b_ns, WeightOf(a));
}

TEST(Diff, TheSumsOfBothSidesAreExact) {
  const v1::Profile profiles[] = {testing::SmallProfile(),   testing::SmallProfileLater(),
                                  testing::TypicalProfile(), testing::LargeProfile(3000),
                                  testing::HostileProfile(), testing::EmptyProfile(),
                                  testing::WaitingProfile()};
  for (const v1::Profile& a : profiles) {
    for (const v1::Profile& b : profiles) {
      for (const bool absolute : {false, true}) {
        const Diff diff = Built(a, b, {.absolute = absolute});
        const std::uint64_t a_ns = WeightOf(a);
        EXPECT_EQ(diff.b.total_ns, WeightOf(b));
        if (absolute || diff.scale == 1) {
          EXPECT_EQ(diff.a.total_ns, a_ns);
        }
        EXPECT_NEAR(static_cast<double>(diff.a.total_ns), static_cast<double>(a_ns) * diff.scale,
                    2);
        DiffTime self;
        for (const DiffTime& time : diff.self) self += time;
        EXPECT_EQ(self.a_ns, diff.a.total_ns);
        EXPECT_EQ(self.b_ns, diff.b.total_ns);
        EXPECT_EQ(self.a_count, diff.a.samples);
        EXPECT_EQ(self.b_count, diff.b.samples);
        DiffTime states;
        for (const DiffState& state : DiffStates(diff)) states += state.time;
        EXPECT_EQ(states.a_ns, diff.a.total_ns);
        EXPECT_EQ(states.b_ns, diff.b.total_ns);
      }
    }
  }
}

TEST(Diff, NothingChangesAgainstItself) {
  for (const v1::Profile& profile : {testing::TypicalProfile(), testing::LargeProfile(3000)}) {
    const Diff diff = Built(profile, profile);
    for (const DiffTime& time : diff.total) {
      EXPECT_EQ(time.change_ns(), 0);
      EXPECT_TRUE(IsNoise(time, {}));
    }
    EXPECT_EQ(diff.scale, 1);
  }
}

TEST(Diff, RunningIsWorkingAndSpinning) {
  const v1::Profile with = testing::SpinningProfile();
  v1::Profile without = with;
  without.mutable_samples()->clear_rule();
  without.mutable_samples()->clear_rule_node();
  const auto states = DiffStates(Built(without, with));
  ASSERT_GE(states.size(), 2u);
  EXPECT_EQ(states[0].name, "working");
  EXPECT_EQ(states[0].time.a_ns, 1050 * kMs);
  EXPECT_EQ(states[0].time.b_ns, 650 * kMs);
  EXPECT_EQ(states[1].name, "spinning");
  EXPECT_EQ(states[1].time.a_ns, 0u);
  EXPECT_EQ(states[1].time.b_ns, 400 * kMs);
}

TEST(Diff, FunctionsByTotalSelfAndState) {
  const Diff diff = Small();
  EXPECT_EQ(diff.scale, 2);
  auto functions = ByName(diff, KernelFunctions::kPartOfCaller);
  EXPECT_FALSE(functions.contains("futex_wait_[k]"));
  const DiffFunction& wait = functions.at("wait");
  EXPECT_EQ(wait.total.a_ns, 600 * kMs);
  EXPECT_EQ(wait.total.b_ns, 2300 * kMs);
  EXPECT_EQ(wait.self.change_ns(), 1'700'000'000);  // with what the kernel did for it
  const DiffFunction& compute = functions.at("compute");
  EXPECT_EQ(compute.total.change_ns(), -1'700'000'000);
  ASSERT_EQ(compute.states.size(), 2u);
  EXPECT_EQ(compute.states[0].name, "working");
  EXPECT_EQ(compute.states[1].name, "runnable");
  EXPECT_EQ(compute.states[1].time.change_ns(), -20'000'000);
  EXPECT_EQ(functions.at("main").total.change_ns(), 0);
  EXPECT_TRUE(functions.at("main").self.empty());

  functions = ByName(diff, KernelFunctions::kApart);
  EXPECT_EQ(functions.at("futex_wait_[k]").self.change_ns(), 1'700'000'000);
  EXPECT_TRUE(functions.at("wait").self.empty());
  EXPECT_EQ(functions.at("fsync_[k]").total.b_ns, 0u);
  EXPECT_EQ(functions.at("send_[k]").total.a_ns, 0u);
}

TEST(Diff, ARecursionCountsOnce) {
  testing::ProfileMaker maker;
  maker.Add(maker.AddThread(1, "demo"), {"main", "f", "g", "f"}, {.weight_ns = 100});
  const Diff diff = Built(maker.Make(), maker.Make());
  const auto functions = ByName(diff, KernelFunctions::kApart);
  EXPECT_EQ(functions.at("f").total.a_ns, 100u);
  EXPECT_EQ(functions.at("f").self.a_ns, 100u);
  EXPECT_EQ(functions.at("g").total.b_ns, 100u);
  EXPECT_TRUE(functions.at("g").self.empty());
}

TEST(Diff, ComparesByNamesWithoutIdsNumbersAndLines) {
  const auto profile = [](std::uint32_t pid, const char* line) {
    testing::ProfileMaker maker;
    maker.profile().clear_processes();
    const auto process = maker.AddProcess(pid, "python3");
    maker.Add(maker.AddThread(pid + 1, "pool-" + std::to_string(pid), process),
              {"main (train.py:" + std::string(line) + ")"});
    maker.Add(maker.AddThread(pid + 2, "x", maker.AddProcess(pid + 2, "other")), {"f"});
    return maker.Make();
  };
  const Diff diff = Built(profile(10, "3"), profile(20, "4"), {.threads = true});
  EXPECT_EQ(Folded(diff),
            "other;x;f 10000 10000\n"
            "python3;pool-*;main (train.py) 10000 10000\n");
}

TEST(Diff, OneProcessIsComparedWithOneWhateverTheyAreCalled) {
  const auto profile = [](const char* comm) {
    testing::ProfileMaker maker;
    maker.profile().mutable_processes(0)->set_comm(comm);
    maker.Add(maker.AddThread(1, "t"), {"main"});
    return maker.Make();
  };
  EXPECT_EQ(Folded(Built(profile("old"), profile("new"))), "new;main 10000 10000\n");
}

TEST(Diff, NoiseIsWhatFewSamplesCannotShow) {
  // 100 against 120 samples of 1 ms: two standard errors are 29.7 ms.
  EXPECT_TRUE(IsNoise(Sampled(100 * kMs, 120 * kMs, 100, 120), {}));
  EXPECT_FALSE(IsNoise(Sampled(100 * kMs, 140 * kMs, 100, 140), {}));
  EXPECT_TRUE(IsNoise(Sampled(0, 3 * kMs, 0, 3), {}));
  EXPECT_FALSE(IsNoise(Sampled(0, 10 * kMs, 0, 10), {}));
  EXPECT_FALSE(IsNoise(Sampled(10 * kMs, 0, 10, 0), {}));
  EXPECT_TRUE(IsNoise({}, {}));
}

TEST(Diff, WhatWasMeasuredIsNoNoise) {
  EXPECT_FALSE(IsNoise({100 * kMs, 110 * kMs, 1, 1, 100 * kMs, 110 * kMs, {}, {}}, {}));
  EXPECT_FALSE(IsNoise({0, kMs, 0, 1, 0, kMs, {}, {}}, {}));
  EXPECT_TRUE(IsNoise({100 * kMs, 110 * kMs, 1, 1, 0, 110 * kMs, {}, {}}, {}));
}

// What one part may be wrong by, of both sides.
DiffTime Known(std::uint64_t a_ns, std::uint64_t b_ns, float error_ns) {
  DiffTime time = Sampled(a_ns, b_ns, 1000, 1000);
  for (ErrorSum* error : {&time.a_error, &time.b_error}) {
    error->known = true;
    error->parts[0] = error_ns;
  }
  return time;
}

TEST(Diff, NoiseIsWithinTheErrorsOfBothSides) {
  // The standard error of the change is 14.1 ms, with 20 degrees of freedom: 2.09 of it are 29.5.
  EXPECT_TRUE(IsNoise(Known(100 * kMs, 129 * kMs, 10 * kMs), {}));
  EXPECT_FALSE(IsNoise(Known(100 * kMs, 130 * kMs, 10 * kMs), {}));
  // A, which is multiplied by 2, has 20 ms, so 22.4 ms with 14.7, thus 14, degrees: 48.0 ms.
  EXPECT_TRUE(IsNoise(Known(100 * kMs, 147 * kMs, 10 * kMs), {.scale_of_a = 2, .rows = 1}));
  EXPECT_FALSE(IsNoise(Known(100 * kMs, 149 * kMs, 10 * kMs), {.scale_of_a = 2, .rows = 1}));
}

TEST(Diff, OfManyRowsSomeChangeMoreByChance) {
  // Of 50 rows one may be beyond 0.1 %, which is 3.85 of 14.1 ms.
  EXPECT_TRUE(IsNoise(Known(100 * kMs, 154 * kMs, 10 * kMs), {.scale_of_a = 1, .rows = 50}));
  EXPECT_FALSE(IsNoise(Known(100 * kMs, 155 * kMs, 10 * kMs), {.scale_of_a = 1, .rows = 50}));
}

TEST(Diff, BothSidesHaveTheirErrors) {
  const Diff diff = Built(testing::SampledProfile(), testing::SampledProfile());
  const DiffFunction read = ByName(diff, KernelFunctions::kApart).at("read");
  const double total = static_cast<double>(diff.a.total_ns);
  // An edge is one of 100 points.
  for (const ErrorSum& error : {read.total.a_error, read.total.b_error}) {
    EXPECT_TRUE(error.known);
    EXPECT_NEAR(error.variance(), total / 100 * total / 100, total);
  }
  EXPECT_NEAR(diff.total[0].a_error.variance(), 0, total) << "all of it is exact";
}

TEST(Diff, JsonHasTheIntervalsOfBothSides) {
  const Interval interval = WilsonInterval(0.6, 0.01 * 0.01);
  const nlohmann::json json = Json(Built(testing::SampledProfile(), testing::SampledProfile()));
  const double total = json["a"]["total_ns"].get<double>();
  int found = 0;
  for (const auto& function : json["functions"]) {
    if (function["name"] != "read") continue;
    ++found;
    for (const std::string side : {"a", "b"}) {
      // Errors are floats.
      EXPECT_NEAR(function["total"][side + "_low_ns"].get<double>(), total * interval.low, 100);
      EXPECT_NEAR(function["total"][side + "_high_ns"].get<double>(), total * interval.high, 100);
    }
  }
  EXPECT_EQ(found, 1);
  EXPECT_FALSE(Json(Small())["functions"][0]["total"].contains("a_low_ns")) << "not known";
}

TEST(Diff, TimeThatMayBeMissingIsNoChange) {
  DiffTime time = Known(100 * kMs, 140 * kMs, 10 * kMs);
  EXPECT_FALSE(IsNoise(time, {}));
  time.a_error.missing_ns = 15 * kMs;
  EXPECT_TRUE(IsNoise(time, {}));
}

TEST(Diff, ChangeIsOfTheLargerSideAndNoneWhereItMayBeChance) {
  const auto change = [](std::uint64_t a, std::uint64_t b) {
    return ChangeOf(Sampled(a * kMs, b * kMs, 1000 * a, 1000 * b), {});
  };
  EXPECT_EQ(change(100, 100), Change::kNone);
  EXPECT_EQ(change(100, 104), Change::kNone);
  EXPECT_EQ(change(100, 110), Change::kSlight);
  EXPECT_EQ(change(110, 100), Change::kSlight);
  EXPECT_EQ(change(100, 130), Change::kSome);
  EXPECT_EQ(change(100, 201), Change::kMuch);
  EXPECT_EQ(change(0, 100), Change::kWhole);
  EXPECT_EQ(change(100, 0), Change::kWhole);
  EXPECT_EQ(change(0, 0), Change::kNone);
  EXPECT_EQ(ChangeOf(Sampled(0, 2 * kMs, 0, 2), {}), Change::kNone);
}

TEST(Diff, ProfilesOfOtherStatesAreRefused) {
  v1::Profile on = testing::SmallProfile();
  on.set_on_cpu(true);
  on.set_off_cpu(false);
  const Result<Diff> diff =
      Diff::Build(on, testing::SmallProfile(), {.a_name = "x.json", .b_name = "y.json"});
  ASSERT_FALSE(diff);
  EXPECT_EQ(diff.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(diff.error().message, "x.json holds time on a CPU, y.json all time");
}

TEST(Diff, ADamagedProfileIsRefused) {
  v1::Profile damaged = testing::SmallProfile();
  damaged.mutable_samples()->set_node(0, 1000);
  const Result<Diff> diff = Diff::Build(testing::SmallProfile(), damaged, {});
  ASSERT_FALSE(diff);
  EXPECT_EQ(diff.error().code, ErrorCode::kCorrupt);
}

TEST(Diff, FoldedMatchesItsGolden) { ExpectGolden(Folded(Small()), "small.diff.folded"); }

TEST(Diff, JsonMatchesItsGoldenAndAddsUp) {
  std::ostringstream out;
  ASSERT_TRUE(WriteDiffJson(Small(), out));
  ExpectGolden(out.str(), "small.diff.json");
  const nlohmann::json json = Json(Small());
  EXPECT_EQ(json["a"]["start_unix_ns"], std::to_string(testing::SmallProfile().start_unix_ns()))
      << "a double does not hold it";
  EXPECT_TRUE(json["a"]["elapsed_ns"].is_number());
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  for (const auto& stack : json["stacks"]) {
    a += stack["a_ns"].get<std::uint64_t>();
    b += stack["b_ns"].get<std::uint64_t>();
  }
  EXPECT_EQ(a, json["a"]["total_ns"]);
  EXPECT_EQ(b, json["b"]["total_ns"]);
  EXPECT_EQ(json["scale_of_a"], 2);
}

TEST(Diff, JsonHoldsHostileNames) {
  const nlohmann::json json = Json(Built(testing::HostileProfile(), testing::SmallProfile()));
  EXPECT_FALSE(json["stacks"].empty());
}

std::string Svg(const v1::Profile& a, const v1::Profile& b) {
  std::ostringstream out;
  EXPECT_TRUE(WriteDiffSvg(Built(a, b), a, b, out));
  return out.str();
}

std::string Part(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  const std::size_t to = text.find(end, from);
  EXPECT_TRUE(from != std::string::npos && to != std::string::npos) << begin;
  return from == std::string::npos ? "" : text.substr(from, to - from);
}

TEST(Diff, SvgMatchesItsGoldens) {
  const std::string svg = Svg(testing::SmallProfile(), testing::SmallProfileLater());
  ExpectGolden(Part(svg, "<g id=\"head\">", "</g>"), "small.diff.head.svg");
  ExpectGolden(Part(svg, "<svg id=\"still\"", "</svg>\n</svg>\n"), "small.diff.frames.svg");
}

TEST(Diff, SvgHoldsBothSidesWithTheOthersTimes) {
  const std::string svg = Svg(testing::SmallProfile(), testing::SmallProfileLater());
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const auto data = nlohmann::json::parse(Part(svg, begin, "</script>").substr(begin.size()));
  const auto column = [&](const char* side, const char* name, const char* what) {
    const auto& graph = data[side];
    for (std::size_t i = 0; i < graph["ns"].size(); ++i)
      if (graph["labels"][graph["label"][i].get<std::size_t>()] == name)
        return graph[what][i].get<std::uint64_t>();
    return ~std::uint64_t{0};
  };
  EXPECT_EQ(column("b", "wait", "ns"), 2300 * kMs);
  EXPECT_EQ(column("b", "wait", "other"), 600 * kMs);
  EXPECT_EQ(column("a", "wait", "ns"), 600 * kMs);
  EXPECT_EQ(column("b", "fsync_[k]", "ns"), ~std::uint64_t{0});
  EXPECT_EQ(column("a", "fsync_[k]", "ns"), 1600 * kMs);
  EXPECT_EQ(column("a", "fsync_[k]", "other"), 0u);
  EXPECT_EQ(column("b", "send_[k]", "other"), 0u);
}

TEST(Diff, SvgOfNothingSaysSo) {
  const std::string svg = Svg(testing::EmptyProfile(), testing::EmptyProfile());
  EXPECT_NE(svg.find("There are no samples in these profiles."), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace profd::client
