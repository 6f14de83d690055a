#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "tests/rpc/rpc_fixture.h"

namespace profd::test {
namespace {

class StatusTest : public RpcFixture {
 protected:
  v1::StatusResponse Status() {
    grpc::ClientContext context;
    v1::StatusResponse response;
    EXPECT_TRUE(stub_->Status(&context, v1::StatusRequest(), &response).ok());
    return response;
  }
};

TEST_F(StatusTest, TellsOfTheDaemon) {
  const auto status = Status();
  EXPECT_EQ(status.version(), PROFD_VERSION);
  EXPECT_EQ(status.kernel(), "synthetic");
  EXPECT_EQ(status.hook(), "sched_exit_tp");
  EXPECT_EQ(status.online_cpus(), 2u);
  EXPECT_GT(status.daemon_cpu_ns(), 0u);
  EXPECT_GT(status.memory_bytes(), 1u << 20);
  EXPECT_EQ(status.sessions_size(), 0);
}

TEST_F(StatusTest, ListsTheSessions) {
  grpc::ClientContext context;
  auto request = RequestFor(100, std::chrono::hours(1));
  const auto reader = stub_->Collect(&context, request);
  v1::CollectResponse response;
  ASSERT_TRUE(reader->Read(&response));
  const auto status = Status();
  ASSERT_EQ(status.sessions_size(), 1);
  EXPECT_EQ(status.sessions(0).id(), response.started().session());
  EXPECT_EQ(status.sessions(0).target(), "pid 100");
  EXPECT_EQ(status.sessions(0).duration_ns(), 3'600'000'000'000u);
  context.TryCancel();
}

TEST_F(StatusTest, TheSocketIsForItsGroup) {
  struct stat info {};
  ASSERT_EQ(stat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0660u);
}

TEST_F(StatusTest, ASecondDaemonIsRefused) {
  const auto second = rpc::Server::Start({address(), "", "", {}}, service_, clock_, logger_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  Status();  // the first one still answers
}

// The health service's messages are not among ours: "service" is field 1 of the request, "status"
// field 1 of the response, and SERVING is 1.
TEST_F(StatusTest, TheHealthServiceServes) {
  grpc::ClientContext context;
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  const grpc::Slice nothing;
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                          grpc::ByteBuffer(&nothing, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  ASSERT_TRUE(status.ok()) << status.error_message();
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(response.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(slices[0].begin()), slices[0].size()),
            "\x08\x01");
}

}  // namespace
}  // namespace profd::test
