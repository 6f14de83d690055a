// Against a real server whose sessions last until they are stopped.
#include "client/commands/common/live_windows.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/profiler_server.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using Writer = grpc::ServerWriter<v1::CollectResponse>;

class SessionService : public v1::Profiler::Service {
 public:
  grpc::Status Collect(grpc::ServerContext* context, const v1::CollectRequest* request,
                       Writer* writer) override {
    std::uint32_t number = 0;
    {
      const std::scoped_lock lock(mutex_);
      number = ++sessions_;
      if (number == refuse_) return {refusal_, "no more"};
      events_.push_back("begin " + std::to_string(number));
    }
    EXPECT_EQ(request->duration_ns(), 0u);
    v1::CollectResponse response;
    response.mutable_started()->set_session(number);
    writer->Write(response);
    while (!WaitForStop(number)) {
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
      response.mutable_progress()->set_target_gone(number == gone_);
      writer->Write(response);
    }
    v1::Profile profile = client_profile_;
    profile.set_target(std::to_string(number));
    response.set_profile_chunk(profile.SerializeAsString());
    writer->Write(response);
    response.set_done(true);
    writer->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status Stop(grpc::ServerContext* /*context*/, const v1::StopRequest* request,
                    v1::StopResponse* /*response*/) override {
    const std::scoped_lock lock(mutex_);
    events_.push_back("end " + std::to_string(request->session()));
    stopped_.insert(request->session());
    changed_.notify_all();
    return grpc::Status::OK;
  }
  [[nodiscard]] std::vector<std::string> events() {
    const std::scoped_lock lock(mutex_);
    return events_;
  }

  std::uint32_t refuse_ = 0;  // this session
  grpc::StatusCode refusal_ = grpc::StatusCode::RESOURCE_EXHAUSTED;
  std::uint32_t gone_ = 0;  // the target of this one

 private:
  // False: not yet, and progress is due.
  bool WaitForStop(std::uint32_t number) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(1),
                             [&] { return stopped_.contains(number); });
  }

  const v1::Profile client_profile_ = testing::SmallProfile();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t sessions_ = 0;
  std::set<std::uint32_t> stopped_;
  std::vector<std::string> events_;
};

class LiveWindowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto client = GrpcClient::Connect(server_.address());
    ASSERT_TRUE(client) << client.error().message;
    client_ = *std::move(client);
    request_.mutable_target()->mutable_pids()->add_id(1);
  }
  void TearDown() override {
    windows_.reset();
    client_.reset();
  }
  void Start() {
    windows_ = std::make_unique<LiveWindows>(
        *client_, request_, length_, console_, [this](Result<v1::Profile> window) {
          const std::scoped_lock lock(mutex_);
          delivered_.push_back(window ? window->target() : window.error().message);
          changed_.notify_all();
        });
  }
  std::vector<std::string> WaitFor(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return delivered_.size() >= count; });
    return delivered_;
  }

  SessionService service_;
  test::ProfilerServer server_{service_};
  std::unique_ptr<GrpcClient> client_;
  Console console_{Console::Options{.quiet = true, .palette = Palette()}};
  v1::CollectRequest request_;
  std::chrono::nanoseconds length_ = std::chrono::milliseconds(1);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> delivered_;
  std::unique_ptr<LiveWindows> windows_;
};

TEST_F(LiveWindowsTest, EachBeginsBeforeTheOneBeforeItEnds) {
  Start();
  auto delivered = WaitFor(3);
  delivered.resize(3);
  EXPECT_EQ(delivered, (std::vector<std::string>{"1", "2", "3"}));
  auto events = service_.events();
  ASSERT_GE(events.size(), 7u);
  events.resize(7);
  EXPECT_EQ(events, (std::vector<std::string>{"begin 1", "begin 2", "end 1", "begin 3", "end 2",
                                              "begin 4", "end 3"}));
}

TEST_F(LiveWindowsTest, AnErrorIsTheLast) {
  service_.refuse_ = 2;
  Start();
  const auto delivered = WaitFor(1);
  windows_.reset();
  EXPECT_EQ(delivered, std::vector<std::string>{"no more"});
  EXPECT_EQ(delivered_.size(), 1u);
}

TEST_F(LiveWindowsTest, EndsWithItsTarget) {
  service_.gone_ = 1;
  length_ = std::chrono::hours(1);
  Start();
  const auto delivered = WaitFor(2);
  EXPECT_EQ(delivered, (std::vector<std::string>{"1", "the target has exited"}));
}

TEST_F(LiveWindowsTest, ATargetThatIsNotFoundAgainHasExited) {
  service_.refuse_ = 2;
  service_.refusal_ = grpc::StatusCode::NOT_FOUND;
  Start();
  const auto delivered = WaitFor(2);
  EXPECT_EQ(delivered, (std::vector<std::string>{"1", "the target has exited"}));
}

TEST_F(LiveWindowsTest, ATargetThatIsNotFoundAtFirstIsAnError) {
  service_.refuse_ = 1;
  service_.refusal_ = grpc::StatusCode::NOT_FOUND;
  Start();
  EXPECT_EQ(WaitFor(1), std::vector<std::string>{"no more"});
}

TEST_F(LiveWindowsTest, CanBeGivenUpAtOnce) {
  Start();
  windows_.reset();
}

}  // namespace
}  // namespace profd::client
