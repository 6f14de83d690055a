#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "tests/rpc/rpc_fixture.h"
#include "tests/support/eventually.h"

namespace profd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::HasSubstr;

std::map<std::uint32_t, std::uint64_t> WeightByTid(const v1::Profile& profile) {
  std::map<std::uint32_t, std::uint64_t> weights;
  const auto& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i)
    weights[profile.threads(static_cast<int>(samples.thread(i))).tid()] += samples.weight_ns(i);
  return weights;
}

// Every thread of the plan is in the profile from end to end, and its stacks add up.
void ExpectWhole(const v1::Profile& profile, const std::vector<std::uint32_t>& tids) {
  const auto weights = WeightByTid(profile);
  ASSERT_EQ(weights.size(), tids.size());
  for (const auto tid : tids) EXPECT_EQ(weights.at(tid), profile.end_ns() - profile.start_ns());
  for (const auto& thread : profile.threads()) {
    EXPECT_FALSE(thread.clock_missing());
    EXPECT_EQ(thread.closure_error(), 0.0);
  }
}

class CollectTest : public RpcFixture {
 protected:
};

TEST_F(CollectTest, GivesTheProfileOfOneProcess) {
  const auto collected = Collect(RequestFor(100, milliseconds(400)));
  ASSERT_TRUE(collected.status.ok()) << collected.status.error_message();
  ASSERT_TRUE(collected.started.has_value());
  ASSERT_TRUE(collected.profile.has_value());
  const auto& profile = *collected.profile;
  EXPECT_EQ(profile.target(), "pid 100");
  EXPECT_GE(profile.end_ns() - profile.start_ns(), 400'000'000u);
  EXPECT_EQ(profile.start_unix_ns(), profile.start_ns() + 1000);
  EXPECT_EQ(profile.hook(), "sched_exit_tp");
  EXPECT_EQ(profile.processes_size(), 1);
  ExpectWhole(profile, {100, 101});

  ASSERT_FALSE(collected.progress.empty());
  const auto& last = collected.progress.back();
  EXPECT_TRUE(last.finishing());
  EXPECT_GE(last.elapsed_ns(), 400'000'000u);
  EXPECT_GT(last.samples(), 0u);
  EXPECT_EQ(kernel_.running(), 0u);
}

TEST_F(CollectTest, EndsEarlyByStopAndStillGivesTheProfile) {
  const auto collected =
      Collect(RequestFor(100, std::chrono::hours(1)), [this](std::uint32_t session) {
        v1::StopRequest request;
        request.set_session(session);
        v1::StopResponse response;
        grpc::ClientContext context;
        EXPECT_TRUE(stub_->Stop(&context, request, &response).ok());
      });
  ASSERT_TRUE(collected.status.ok()) << collected.status.error_message();
  ASSERT_TRUE(collected.profile.has_value());
  ExpectWhole(*collected.profile, {100, 101});
}

TEST_F(CollectTest, WithoutADurationRunsUntilItIsStopped) {
  const auto collected = Collect(RequestFor(200, milliseconds(0)), [this](std::uint32_t session) {
    ASSERT_TRUE(test::Eventually([&] { return manager_.List().at(0).progress.samples > 0; }));
    EXPECT_TRUE(manager_.Stop(session).ok());
  });
  ASSERT_TRUE(collected.profile.has_value());
  ExpectWhole(*collected.profile, {200});
}

TEST_F(CollectTest, RunsSeveralSessionsAtOnce) {
  auto all = RequestFor(100, milliseconds(300));
  all.mutable_target()->set_all(true);
  auto coarse = RequestFor(200, milliseconds(200));
  coarse.set_mode(v1::MODE_ON_CPU);
  coarse.set_frequency_hz(10);
  std::vector<Collected> collected(3);
  {
    const std::jthread first([&] { collected[0] = Collect(RequestFor(100, milliseconds(250))); });
    const std::jthread second([&] { collected[1] = Collect(all); });
    const std::jthread third([&] { collected[2] = Collect(coarse); });
  }
  for (const auto& one : collected) {
    ASSERT_TRUE(one.status.ok()) << one.status.error_message();
    ASSERT_TRUE(one.profile.has_value());
  }
  ExpectWhole(*collected[0].profile, {100, 101});
  ExpectWhole(*collected[1].profile, {100, 101, 200});
  const auto& thread = collected[2].profile->threads(0);
  EXPECT_EQ(WeightByTid(*collected[2].profile).at(200), thread.clock().on_cpu_ns());
  EXPECT_EQ(kernel_.running(), 0u);
}

TEST_F(CollectTest, ACallerThatGoesAwayEndsItsSession) {
  grpc::ClientContext context;
  const auto reader = stub_->Collect(&context, RequestFor(100, std::chrono::hours(1)));
  v1::CollectResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(kernel_.running(), 1u);
  context.TryCancel();
  ASSERT_TRUE(
      test::Eventually([this] { return kernel_.running() == 0 && manager_.List().empty(); }));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(CollectTest, ACallerWhoseConnectionBreaksEndsItsSession) {
  auto channel = grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), [] {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return arguments;
  }());
  auto stub = v1::Profiler::NewStub(channel);
  {
    grpc::ClientContext context;
    const auto reader = stub->Collect(&context, RequestFor(100, std::chrono::hours(1)));
    v1::CollectResponse response;
    ASSERT_TRUE(reader->Read(&response));
    EXPECT_EQ(kernel_.running(), 1u);
    context.TryCancel();
  }
  stub.reset();
  channel.reset();
  ASSERT_TRUE(
      test::Eventually([this] { return kernel_.running() == 0 && manager_.List().empty(); }));
}

TEST_F(CollectTest, EndsWhenTheTargetIsGone) {
  const auto collected =
      Collect(RequestFor(100, std::chrono::hours(1)), [this](std::uint32_t) { kernel_.Kill(100); });
  ASSERT_TRUE(collected.status.ok()) << collected.status.error_message();
  ASSERT_TRUE(collected.profile.has_value());
  EXPECT_TRUE(collected.progress.back().target_gone());
  const auto& profile = *collected.profile;
  ASSERT_EQ(profile.threads_size(), 2);
  for (const auto& thread : profile.threads()) {
    EXPECT_TRUE(thread.exited());
    EXPECT_LT(thread.end_ns(), profile.end_ns());
    EXPECT_EQ(thread.closure_error(), 0.0);
  }
}

TEST_F(CollectTest, SaysWhatIsWrongWithARequest) {
  auto request = RequestFor(100, milliseconds(100));
  request.set_frequency_hz(1u << 30);
  auto collected = Collect(request);
  EXPECT_EQ(collected.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(collected.status.error_message(), HasSubstr("Hz is outside 1 to"));

  collected = Collect(v1::CollectRequest());
  EXPECT_EQ(collected.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  collected = Collect(RequestFor(4711, milliseconds(100)));
  EXPECT_EQ(collected.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(collected.status.error_message(), "no such process\nsee `ps`");
  EXPECT_TRUE(manager_.List().empty());
}

TEST_F(CollectTest, StopOfNoSessionIsNotFound) {
  v1::StopRequest request;
  request.set_session(77);
  v1::StopResponse response;
  grpc::ClientContext context;
  const auto status = stub_->Stop(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("77"));
}

TEST_F(CollectTest, ASourceThatFailsEndsTheSessionsWithItsError) {
  const auto collected =
      Collect(RequestFor(100, std::chrono::hours(1)), [this](std::uint32_t) { kernel_.Break(); });
  EXPECT_FALSE(collected.status.ok());
  EXPECT_FALSE(collected.profile.has_value());
  EXPECT_THAT(collected.status.error_message(), HasSubstr("the ring is gone"));
  EXPECT_THAT(Collect(RequestFor(100, milliseconds(10))).status.error_message(),
              HasSubstr("the ring is gone"));
}

TEST_F(CollectTest, ShutdownEndsSessionsAndTheirCallersGetTheProfile) {
  Collected collected;
  {
    const std::jthread caller([&] { collected = Collect(RequestFor(100, std::chrono::hours(1))); });
    ASSERT_TRUE(test::Eventually([this] { return !manager_.List().empty(); }));
    manager_.Shutdown(std::chrono::seconds(60));
  }
  ASSERT_TRUE(collected.status.ok()) << collected.status.error_message();
  ASSERT_TRUE(collected.profile.has_value());
  ExpectWhole(*collected.profile, {100, 101});
  EXPECT_EQ(Collect(RequestFor(100, milliseconds(10))).status.error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CollectTest, ShutdownWithoutTimeLeavesSessionsToThePipelinesEnd) {
  Collected collected;
  {
    const std::jthread caller([&] { collected = Collect(RequestFor(100, std::chrono::hours(1))); });
    ASSERT_TRUE(test::Eventually([this] { return !manager_.List().empty(); }));
    manager_.Shutdown(std::chrono::nanoseconds(0));
    pipeline_.Stop();
  }
  EXPECT_EQ(collected.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(collected.status.error_message(), HasSubstr("profd is shutting down"));
}

}  // namespace
}  // namespace profd::test
