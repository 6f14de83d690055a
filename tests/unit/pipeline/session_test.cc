#include "daemon/pipeline/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/manual_clock.h"

namespace profd::pipeline {
namespace {

using std::chrono::nanoseconds;

class SessionTest : public testing::Test {
 protected:
  SessionTest() { clock_.Set(1500, 0); }

  static pipeline::SessionStart Start() {
    pipeline::SessionStart start;
    start.start_ns = 1000;
    start.threads = 3;
    return start;
  }

  test::ManualClock clock_;
  pipeline::Session session_{7, {}, Start(), clock_};
};

TEST_F(SessionTest, ReportsItsProgress) {
  EXPECT_EQ(session_.id(), 7u);
  EXPECT_EQ(session_.Progress().elapsed_ns, 500u);
  EXPECT_EQ(session_.Progress().threads, 3u);
  session_.Report(10, 2, 4);
  session_.ReportTargetGone(true);
  const auto progress = session_.Progress();
  EXPECT_EQ(progress.samples, 10u);
  EXPECT_EQ(progress.lost, 2u);
  EXPECT_EQ(progress.threads, 4u);
  EXPECT_TRUE(progress.target_gone);
  EXPECT_FALSE(progress.finishing);
}

TEST_F(SessionTest, EndsOnceAndItsTimeStandsStill) {
  clock_.Set(3000, 0);
  EXPECT_TRUE(session_.BeginEnd());
  EXPECT_FALSE(session_.BeginEnd());
  clock_.Set(9000, 0);
  EXPECT_EQ(session_.Progress().elapsed_ns, 2000u);
  EXPECT_TRUE(session_.Progress().finishing);
}

TEST_F(SessionTest, ElapsedIsNeverNegative) {
  clock_.Set(900, 0);
  EXPECT_EQ(session_.Progress().elapsed_ns, 0u);
}

TEST_F(SessionTest, HandsOverItsResultOnce) {
  EXPECT_FALSE(session_.WaitFinished(nanoseconds{0}));
  EXPECT_FALSE(session_.result().ok());
  const auto profile = std::make_shared<const aggregate::Profile>();
  std::jthread pipeline([&] {
    session_.Finish(profile);
    session_.Finish(Error{ErrorCode::kInternal, "too late", ""});
  });
  EXPECT_TRUE(session_.WaitFinished(std::chrono::minutes{1}));
  pipeline.join();
  ASSERT_TRUE(session_.result().ok());
  EXPECT_EQ(*session_.result(), profile);
}

}  // namespace
}  // namespace profd::pipeline
