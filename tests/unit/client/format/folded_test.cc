#include "client/format/folded.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;

const Exporter kFolded = FoldedExporter();

struct Line {
  std::string stack;
  std::uint64_t weight = 0;
};

std::vector<Line> Lines(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.rfind(' ');
    EXPECT_NE(space, std::string::npos) << line;
    lines.push_back({line.substr(0, space), std::stoull(line.substr(space + 1))});
  }
  return lines;
}

std::uint64_t Total(const std::vector<Line>& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Line& line) { return sum + line.weight; });
}

std::uint64_t TotalNs(const v1::Profile& profile) {
  const auto& weights = profile.samples().weight_ns();
  return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
}

TEST(Folded, WallProfilesAreInMicrosecondsAndSayWhatIsWaitedFor) {
  ExpectGolden(Written(kFolded, testing::SmallProfile()), "small.folded");
}

TEST(Folded, TheSecondFrameIsTheThreadOnRequest) {
  ExpectGolden(Written(kFolded, testing::SmallProfile(), {.threads = true}),
               "small.threads.folded");
}

TEST(Folded, PythonNativeAndKernelFramesTogether) {
  ExpectGolden(Written(kFolded, testing::TypicalProfile()), "typical.folded");
}

TEST(Folded, StacksThatSpinSaySo) {
  EXPECT_EQ(Written(FoldedExporter(), testing::SpinningProfile()),
            "demo (4242);main;compute 600000\n"
            "demo (4242);main;cudaStreamSynchronize;[spinning] 100000\n"
            "demo (4242);main;gomp_barrier_wait;[spinning] 300000\n"
            "demo (4242);main;malloc 50000\n"
            "demo (4242);main;wait;[blocked:lock] 950000\n"
            "demo (4242);run;[blocked:sleep] 2000000\n");
}

TEST(Folded, OnWhomAThreadWaits) {
  const v1::Profile profile = testing::WaitingProfile();
  const std::string lock =
      "demo (4242);main;Tensor.numpy (tensor.py:31);futex_wait_[k];[blocked:lock]";
  const std::string rest = "demo (4242);run;flush;fsync_[k];[blocked:io]";
  const std::string work = "demo (4242);run;get_device_properties 620000\n";
  const std::string steps = Written(kFolded, profile, {.on_whom = PathDetail::kSteps});
  EXPECT_EQ(steps,
            lock + ";--;[still waits] 20000\n" +                          //
                lock + ";--;[waits for engine-worker];[disk] 210000\n" +  //
                lock + ";--;[waits for engine-worker];[runs] 620000\n" +  //
                lock + ";--;[wake-up not seen] 10000\n" +                 //
                "demo (4242);main;compute 100000\n"
                "demo (4242);main;nanosleep;[blocked:sleep];--;[timer] 98000\n"
                "demo (4242);main;send;[blocked:pipe];--;[waits for store/io-*];"
                "[not followed yet] 42000\n" +
                rest + ";--;[disk] 210000\n" + work);
  const std::string stacks = Written(kFolded, profile, {.on_whom = PathDetail::kStacks});
  for (const char* line :
       {";--;[waits for engine-worker];run;flush;fsync_[k];[disk] 210000\n",
        ";--;[waits for engine-worker];run;get_device_properties;[runs] 600000\n",
        ";--;[waits for engine-worker];run;get_device_properties;[runs ~] 20000\n"})
    EXPECT_NE(stacks.find(lock + line), std::string::npos) << stacks;
  for (const std::string& text : {steps, stacks})
    EXPECT_EQ(Total(Lines(text)), (TotalNs(profile) + 500) / 1000);
}

TEST(Folded, OnCpuProfilesAreInSamples) {
  ProfileMaker maker;
  maker.profile().set_off_cpu(false);
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"main", "a"}, {.weight_ns = 1, .count = 3});
  maker.Add(thread, {"main", "b"}, {.weight_ns = 999'999, .count = 2});
  maker.Add(thread, {"main", "a"}, {.weight_ns = 7, .count = 4});
  EXPECT_EQ(Written(kFolded, maker.Make()), "demo (4242);main;a 7\ndemo (4242);main;b 2\n");
}

TEST(Folded, OffCpuProfilesAreInMicroseconds) {
  ProfileMaker maker;
  maker.profile().set_on_cpu(false);
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"main"},
            {.weight_ns = 5'000'000, .state = v1::STATE_BLOCKED, .wait = v1::WAIT_PIPE});
  EXPECT_EQ(Written(kFolded, maker.Make()), "demo (4242);main;[blocked:pipe] 5000\n");
}

TEST(Folded, RoundingLosesNothing) {
  const v1::Profile profile = testing::LargeProfile(3000);
  const auto lines = Lines(Written(kFolded, profile));
  EXPECT_EQ(Total(lines), (TotalNs(profile) + 500) / 1000);
  // 3 x 400 ns are 1 us: it goes to the first.
  EXPECT_EQ(RoundToSum(std::vector<std::uint64_t>{400, 400, 400}, 1000),
            (std::vector<std::uint64_t>{1, 0, 0}));
  EXPECT_EQ(RoundToSum(std::vector<std::uint64_t>{1400, 2700, 900}, 1000),
            (std::vector<std::uint64_t>{1, 3, 1}));
  EXPECT_EQ(RoundToSum(std::vector<std::uint64_t>{999, 999, 999, 999}, 1000),
            (std::vector<std::uint64_t>{1, 1, 1, 1}));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(RoundToSum(std::vector<std::uint64_t>{kMost}, 1), std::vector<std::uint64_t>{kMost});
  EXPECT_TRUE(RoundToSum({}, 1000).empty());
}

TEST(Folded, AStackThatComesToNothingHasNoLine) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"long"}, {.weight_ns = 10'300});
  maker.Add(thread, {"short"}, {.weight_ns = 100});
  EXPECT_EQ(Written(kFolded, maker.Make()), "demo (4242);long 10\n");
  EXPECT_EQ(Written(kFolded, testing::EmptyProfile()), "");
}

TEST(Folded, LinesAreDistinctAndSortedByFrames) {
  const auto lines = Lines(Written(kFolded, testing::LargeProfile(5000)));
  const auto frames = [](const std::string& stack) {
    std::vector<std::string> parts;
    std::istringstream in(stack);
    for (std::string part; std::getline(in, part, ';');) parts.push_back(part);
    return parts;
  };
  ASSERT_GT(lines.size(), 500u);
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_LT(frames(lines[i - 1].stack), frames(lines[i].stack));
}

TEST(Folded, HostileNamesCannotMakeLinesOrFrames) {
  const v1::Profile profile = testing::HostileProfile();
  const std::string text = Written(kFolded, profile);
  const auto lines = Lines(text);
  EXPECT_EQ(lines.size(), testing::HostileNames().size());
  EXPECT_EQ(Total(lines), (TotalNs(profile) + 500) / 1000);
  for (const Line& line : lines)
    EXPECT_EQ(std::count(line.stack.begin(), line.stack.end(), ';'), 2 * v1::FrameKind_ARRAYSIZE);
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace profd::client
