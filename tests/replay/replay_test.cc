// Recordings replayed against golden profiles: no kernel, no root, the same bytes on any machine.
// A golden that is rightly out of date is made again with PROFD_UPDATE_GOLDENS=1.
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

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
  [[nodiscard]] v1::Profile Replay(const session::SessionSpec& spec) {
    auto backend = replay::ReplayBackend::Open(kData + "phases.profd", clock_, logger_);
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
    const client::Exporters exporters;
    const auto exporter = exporters.ByName(format);
    std::ostringstream out;
    EXPECT_TRUE(exporter.ok() && (*exporter)->Write(profile, {.threads = true}, out).ok());
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
}

TEST_F(ReplayTest, ACoarserSessionKeepsAShareAtItsOwnPeriod) {
  session::SessionSpec coarse;
  coarse.on_cpu_period_ns = coarse.off_cpu_period_ns = 101'010'101;
  const auto fine = Replay({});
  const auto profile = Replay(coarse);
  EXPECT_EQ(profile.off_cpu_period_ns(), 101'010'101u);
  EXPECT_LT(profile.samples().time_ns_size(), fine.samples().time_ns_size());
}

TEST_F(ReplayTest, AFileThatIsNoRecordingIsAnError) {
  const auto backend = replay::ReplayBackend::Open(kData + "phases.folded", clock_, logger_);
  ASSERT_FALSE(backend.ok());
  EXPECT_NE(backend.error().message.find("phases.folded"), std::string::npos);
}

}  // namespace
}  // namespace profd
