// Recordings replayed against golden profiles: no kernel, no root, the same bytes on any machine.
// A golden that is rightly out of date is made again with PROFD_UPDATE_GOLDENS=1.
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/format/exporter.h"
#include "daemon/base/clock.h"
#include "daemon/replay/replay_backend.h"
#include "daemon/server/grpc/convert/convert.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace profd {
namespace {

const std::string kData = test::TestData() + "/replay/";

class ReplayTest : public ::testing::Test {
 protected:
  [[nodiscard]] v1::Profile Replay(const session::SessionSpec& spec,
                                   const std::string& recording = "phases.profd") {
    auto backend = replay::ReplayBackend::Open(kData + recording, clock_, logger_);
    EXPECT_TRUE(backend.ok()) << (backend ? "" : backend.error().message);
    if (!backend) return {};
    const auto session = (*backend)->Start(1, spec);
    EXPECT_TRUE(session.ok()) << (session ? "" : session.error().message);
    if (!session) return {};
    while (!(*session)->WaitFinished(std::chrono::hours{1})) {
    }
    const auto result = (*session)->result();
    EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
    return result ? server::ToProto(**result) : v1::Profile{};
  }

  [[nodiscard]] static std::string Write(const v1::Profile& profile, const std::string& format) {
    const auto exporter = client::ExporterByName(format);
    std::ostringstream out;
    EXPECT_TRUE(exporter.ok() && (*exporter)->write(profile, {.threads = true}, out).ok());
    return out.str();
  }

  const SystemClock clock_;
  spdlog::logger logger_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
};

TEST_F(ReplayTest, WholeRecordingGivesTheGoldenProfile) {
  const auto folded = Write(Replay({}), "folded");
  EXPECT_NE(folded.find("phases::Sleep"), std::string::npos);
  EXPECT_NE(folded.find(";[blocked:lock] "), std::string::npos);
  test::ExpectGolden(folded, "replay/phases.folded");
}

TEST_F(ReplayTest, TheSameFileGivesTheSameBytes) {
  EXPECT_EQ(Write(Replay({}), "json"), Write(Replay({}), "json"));
}

TEST_F(ReplayTest, ThePartsOfEveryThreadAddUp) {
  const auto profile = Replay({});
  ASSERT_EQ(profile.threads_size(), 4);
  for (const auto& thread : profile.threads()) {
    EXPECT_LE(std::abs(thread.closure_error()), 0.001) << thread.comm();
  }
}

TEST_F(ReplayTest, TargetsAreAppliedToWhatWasRecorded) {
  const auto whole = Replay({});
  session::SessionSpec by_tid;
  by_tid.target.kind = session::TargetKind::kTids;
  by_tid.target.ids = {whole.threads(1).tid()};
  const auto one = Replay(by_tid);
  ASSERT_EQ(one.threads_size(), 1);
  EXPECT_EQ(one.threads(0).comm(), whole.threads(1).comm());

  session::SessionSpec by_comm;
  by_comm.target.kind = session::TargetKind::kComm;
  by_comm.target.name = "phases";
  EXPECT_EQ(Replay(by_comm).threads_size(), whole.threads_size());
  by_comm.target.name = "another";
  EXPECT_EQ(Replay(by_comm).threads_size(), 0);

  session::SessionSpec by_label;
  by_label.target.kind = session::TargetKind::kLabels;
  by_label.target.labels = {"service.name=phases", "process.executable.name=ph*"};
  const auto labelled = Replay(by_label);
  EXPECT_EQ(labelled.threads_size(), whole.threads_size());
  EXPECT_EQ(labelled.target(), "label service.name=phases,process.executable.name=ph*");
  by_label.target.labels.emplace_back("process.owner=no-such-user");
  EXPECT_EQ(Replay(by_label).threads_size(), 0);
}

// The program has read the clock before and after each call that profd sees. Its first steps came
// before profd watched it.
TEST_F(ReplayTest, StepsAreThoseOfTheProgram) {
  std::ifstream file(kData + "steps.json");
  const auto truth = nlohmann::json::parse(file);
  const auto profile = Replay({}, "steps.profd");
  const auto& events = profile.step_events();
  // Columns of the truth before each call: begin and end of the wait for data, and of the
  // optimizer.
  constexpr std::array kCalls{0, 2, 4, 6};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (const auto& step : truth)
    for (const int call : kCalls)
      expected.emplace_back(step[call].get<std::uint64_t>(), step[call + 1].get<std::uint64_t>());
  const std::size_t missed = expected.size() - static_cast<std::size_t>(events.time_ns_size());
  ASSERT_LE(missed, 2 * kCalls.size());
  for (int i = 0; i < events.time_ns_size(); ++i) {
    const std::size_t call = missed + static_cast<std::size_t>(i);
    EXPECT_GE(events.time_ns(i), expected[call].first) << i;
    EXPECT_LE(events.time_ns(i), expected[call].second) << i;
    EXPECT_EQ(events.end(i), call % 2 == 1) << i;
    const std::string& name = profile.step_names(static_cast<int>(events.name(i)));
    const std::array<std::string, 4> names{
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "",
        "Optimizer.step#Truth.step", ""};
    EXPECT_EQ(name, names.at(call % names.size())) << i;
  }
  EXPECT_EQ(Write(profile, "json"), Write(Replay({}, "steps.profd"), "json"));
}

TEST_F(ReplayTest, ACoarserSessionKeepsAShareAtItsOwnPeriod) {
  session::SessionSpec coarse;
  coarse.on_cpu_period_ns = coarse.off_cpu_period_ns = 101'010'101;
  const auto fine = Replay({});
  const auto profile = Replay(coarse);
  EXPECT_EQ(profile.on_cpu_period_ns(), 101'010'101u);
  EXPECT_EQ(profile.off_cpu_period_ns(), 1u << 27) << "the nearest one";
  EXPECT_LT(profile.samples().time_ns_size(), fine.samples().time_ns_size());
}

TEST_F(ReplayTest, ADurationLimitsTheRecordedTime) {
  const auto whole = Replay({});
  session::SessionSpec spec;
  spec.recorded_ns = (whole.end_ns() - whole.start_ns()) / 2;
  const auto half = Replay(spec);
  EXPECT_EQ(half.start_ns(), whole.start_ns());
  EXPECT_EQ(half.end_ns(), whole.start_ns() + spec.recorded_ns);
  EXPECT_EQ(Write(half, "json"), Write(Replay(spec), "json"));
  ASSERT_EQ(half.threads_size(), whole.threads_size());
  for (const auto& thread : half.threads()) {
    EXPECT_LE(thread.end_ns(), half.end_ns());
    EXPECT_TRUE(thread.clock_missing()) << "nothing has read it at that time";
  }
  // Its samples are those of the whole recording that begin in time, and none weighs more.
  const auto weights = [&half](const v1::Profile& profile) {
    std::map<std::tuple<std::uint64_t, std::uint32_t, int>, std::uint64_t> raw;
    const auto& samples = profile.samples();
    for (int i = 0; i < samples.time_ns_size(); ++i)
      if (samples.count(i) != 0 && samples.time_ns(i) < half.end_ns())
        raw[{samples.time_ns(i), samples.thread(i), samples.state(i)}] += samples.raw_weight_ns(i);
    return raw;
  };
  const auto of_half = weights(half);
  const auto of_whole = weights(whole);
  EXPECT_GT(of_half.size(), 10u);
  ASSERT_EQ(of_half.size(), of_whole.size());
  for (auto a = of_half.begin(), b = of_whole.begin(); a != of_half.end(); ++a, ++b) {
    EXPECT_EQ(a->first, b->first);
    EXPECT_LE(a->second, b->second);
  }
}

TEST_F(ReplayTest, ADurationBeyondTheRecordingTakesAllOfIt) {
  session::SessionSpec spec;
  spec.recorded_ns = 3'600'000'000'000;
  EXPECT_EQ(Write(Replay(spec), "json"), Write(Replay({}), "json"));
}

TEST_F(ReplayTest, AFileThatIsNoRecordingIsAnError) {
  const auto backend = replay::ReplayBackend::Open(kData + "phases.folded", clock_, logger_);
  ASSERT_FALSE(backend.ok());
  EXPECT_NE(backend.error().message.find("phases.folded"), std::string::npos);
}

}  // namespace
}  // namespace profd
