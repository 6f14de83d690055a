// Against a real server on a real socket, whose service says what the test wants.
#include "client/link/grpc_client.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "client/link/collect_session.h"
#include "tests/support/profiler_server.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using Writer = grpc::ServerWriter<v1::CollectResponse>;

class ScriptedService : public v1::Profiler::Service {
 public:
  grpc::Status Collect(grpc::ServerContext* context, const v1::CollectRequest* request,
                       Writer* writer) override {
    return collect ? collect(*context, *request, *writer) : grpc::Status::OK;
  }
  grpc::Status Stop(grpc::ServerContext* /*context*/, const v1::StopRequest* request,
                    v1::StopResponse* /*response*/) override {
    const std::scoped_lock lock(mutex_);
    stopped_.push_back(request->session());
    changed_.notify_all();
    return grpc::Status::OK;
  }
  grpc::Status Status(grpc::ServerContext* /*context*/, const v1::StatusRequest* /*request*/,
                      v1::StatusResponse* response) override {
    response->set_version("test");
    return grpc::Status::OK;
  }
  std::vector<std::uint32_t> WaitForStop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !stopped_.empty(); });
    return stopped_;
  }

  std::function<grpc::Status(grpc::ServerContext&, const v1::CollectRequest&, Writer&)> collect;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint32_t> stopped_;
};

v1::CollectResponse StartedResponse() {
  v1::CollectResponse response;
  response.mutable_started()->set_session(7);
  return response;
}

// In chunks of 100 bytes, then done.
grpc::Status SendProfile(const v1::Profile& profile, Writer& writer) {
  const std::string bytes = profile.SerializeAsString();
  v1::CollectResponse response;
  for (std::size_t at = 0; at < bytes.size(); at += 100) {
    response.set_profile_chunk(bytes.substr(at, 100));
    writer.Write(response);
  }
  response.set_done(true);
  writer.Write(response);
  return grpc::Status::OK;
}

class GrpcClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto client = GrpcClient::Connect(server_.address());
    ASSERT_TRUE(client) << client.error().message;
    client_ = *std::move(client);
  }

  Result<v1::Profile> Collect() {
    CollectCallbacks callbacks;
    callbacks.started = [this](const v1::Started& started) -> Result<void> {
      session_ = started.session();
      return started_result_;
    };
    callbacks.progress = [this](const v1::Progress& progress) -> Result<void> {
      samples_.push_back(progress.samples());
      return progress_result_;
    };
    return client_->Collect({}, callbacks);
  }

  ScriptedService service_;
  test::ProfilerServer server_{service_};
  std::unique_ptr<GrpcClient> client_;
  std::uint32_t session_ = 0;
  std::vector<std::uint64_t> samples_;
  Result<void> started_result_;
  Result<void> progress_result_;
};

TEST_F(GrpcClientTest, Status) {
  const auto status = client_->Status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->version(), "test");
}

TEST_F(GrpcClientTest, CollectJoinsTheChunks) {
  const v1::Profile profile = testing::TypicalProfile();
  service_.collect = [&](grpc::ServerContext&, const v1::CollectRequest&, Writer& writer) {
    writer.Write(StartedResponse());
    v1::CollectResponse progress;
    for (std::uint64_t samples : {1u, 2u}) {
      progress.mutable_progress()->set_samples(samples);
      writer.Write(progress);
    }
    return SendProfile(profile, writer);
  };
  const auto collected = Collect();
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_EQ(collected->SerializeAsString(), profile.SerializeAsString());
  EXPECT_EQ(session_, 7u);
  EXPECT_EQ(samples_, (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(GrpcClientTest, WhatIsNotWholeIsNoProfile) {
  service_.collect = [](grpc::ServerContext&, const v1::CollectRequest&, Writer& writer) {
    v1::CollectResponse response;
    response.set_profile_chunk(testing::SmallProfile().SerializeAsString());
    writer.Write(response);
    return grpc::Status::OK;
  };
  EXPECT_EQ(Collect().error().code, ErrorCode::kCorrupt);
  service_.collect = [](grpc::ServerContext&, const v1::CollectRequest&, Writer& writer) {
    v1::CollectResponse response;
    response.set_profile_chunk("\xff\xff\xff\xff");
    writer.Write(response);
    response.set_done(true);
    writer.Write(response);
    return grpc::Status::OK;
  };
  EXPECT_EQ(Collect().error().code, ErrorCode::kCorrupt);
}

TEST_F(GrpcClientTest, AProfileThatPointsNowhereIsRefused) {
  v1::Profile profile = testing::SmallProfile();
  profile.mutable_samples()->set_node(0, 1'000'000);
  service_.collect = [&](grpc::ServerContext&, const v1::CollectRequest&, Writer& writer) {
    return SendProfile(profile, writer);
  };
  EXPECT_EQ(Collect().error().code, ErrorCode::kCorrupt);
}

TEST_F(GrpcClientTest, ErrorsOfProfdComeThroughWithTheirHint) {
  service_.collect = [](grpc::ServerContext&, const v1::CollectRequest&, Writer&) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no process 5\nsee what runs: ps -e");
  };
  const auto collected = Collect();
  ASSERT_FALSE(collected);
  EXPECT_EQ(collected.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(collected.error().message, "no process 5");
  EXPECT_EQ(collected.error().hint, "see what runs: ps -e");
}

TEST_F(GrpcClientTest, AProfdThatIsBusyIsNotOneThatIsGone) {
  service_.collect = [](grpc::ServerContext&, const v1::CollectRequest&, Writer&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "profd is ending\ntry again");
  };
  EXPECT_EQ(Collect().error().message, "profd is ending");
}

TEST_F(GrpcClientTest, AProfdThatGoesAwayIsReportedInWords) {
  service_.collect = [&](grpc::ServerContext& context, const v1::CollectRequest&, Writer& writer) {
    writer.Write(StartedResponse());
    while (!context.IsCancelled()) {
    }
    return grpc::Status::CANCELLED;
  };
  std::jthread ender;
  CollectCallbacks callbacks;
  callbacks.started = [&](const v1::Started&) -> Result<void> {
    ender = std::jthread([&] { server_.Shutdown(); });
    return {};
  };
  callbacks.progress = [](const v1::Progress&) -> Result<void> { return {}; };
  const auto collected = client_->Collect({}, callbacks);
  ASSERT_FALSE(collected);
  EXPECT_EQ(collected.error().code, ErrorCode::kUnavailable);
}

TEST_F(GrpcClientTest, AFailedStartCancelsTheSession) {
  std::promise<void> cancelled;
  service_.collect = [&](grpc::ServerContext& context, const v1::CollectRequest&, Writer& writer) {
    writer.Write(StartedResponse());
    while (!context.IsCancelled()) {
    }
    cancelled.set_value();
    return grpc::Status::CANCELLED;
  };
  started_result_ = Error{ErrorCode::kNotFound, "cannot run x", ""};
  const auto collected = Collect();
  ASSERT_FALSE(collected);
  EXPECT_EQ(collected.error().message, "cannot run x");
  cancelled.get_future().wait();
}

TEST_F(GrpcClientTest, ErrorOfTheProgressCallbackCancelsTheSession) {
  service_.collect = [&](grpc::ServerContext& context, const v1::CollectRequest&, Writer& writer) {
    writer.Write(StartedResponse());
    v1::CollectResponse response;
    response.mutable_progress()->set_samples(1);
    while (!context.IsCancelled()) writer.Write(response);
    return grpc::Status::CANCELLED;
  };
  progress_result_ = Error{ErrorCode::kUnavailable, "enough", ""};
  const auto collected = Collect();
  ASSERT_FALSE(collected);
  EXPECT_EQ(collected.error().message, "enough");
  EXPECT_EQ(samples_.size(), 1u);
}

TEST_F(GrpcClientTest, StopGoesToTheSessionAlsoWhenItWasWishedForBefore) {
  service_.collect = [&](grpc::ServerContext&, const v1::CollectRequest&, Writer& writer) {
    writer.Write(StartedResponse());
    EXPECT_EQ(service_.WaitForStop(), std::vector<std::uint32_t>{7});
    return SendProfile(testing::SmallProfile(), writer);
  };
  Console console(Console::Options{.quiet = true, .palette = Palette()});
  CollectSession session(console);
  EXPECT_FALSE(session.started());
  session.Stop();
  session.Stop();
  CollectCallbacks callbacks;
  callbacks.started = [&](const v1::Started&) -> Result<void> { return {}; };
  callbacks.progress = [](const v1::Progress&) -> Result<void> { return {}; };
  EXPECT_TRUE(session.Run(*client_, {}, callbacks));
  EXPECT_TRUE(session.started());
  client_.reset();
  session.Stop();  // too late, and of no consequence
}

TEST(GrpcClientConnectTest, SaysWhyItCannot) {
  const auto refused = GrpcClient::Connect("127.0.0.1:1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message, "cannot reach profd at 127.0.0.1:1: connection refused");
}

TEST(ErrorFromStatusTest, EveryCode) {
  const auto code = [](grpc::StatusCode status) {
    return ErrorFromStatus(grpc::Status(status, "x")).code;
  };
  EXPECT_EQ(code(grpc::StatusCode::INVALID_ARGUMENT), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(grpc::StatusCode::PERMISSION_DENIED), ErrorCode::kPermissionDenied);
  EXPECT_EQ(code(grpc::StatusCode::FAILED_PRECONDITION), ErrorCode::kUnsupported);
  EXPECT_EQ(code(grpc::StatusCode::UNIMPLEMENTED), ErrorCode::kUnsupported);
  EXPECT_EQ(code(grpc::StatusCode::RESOURCE_EXHAUSTED), ErrorCode::kPermissionDenied);
  EXPECT_EQ(code(grpc::StatusCode::DEADLINE_EXCEEDED), ErrorCode::kUnavailable);
  EXPECT_EQ(code(grpc::StatusCode::DATA_LOSS), ErrorCode::kCorrupt);
  EXPECT_EQ(code(grpc::StatusCode::INTERNAL), ErrorCode::kInternal);
}

}  // namespace
}  // namespace profd::client
