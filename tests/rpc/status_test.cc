#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <string>

#include "tests/rpc/foreign_service.h"
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

TEST_F(StatusTest, DescribesTheDaemon) {
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
  const auto second = server::Server::Start({address(), "", "", {}}, service_, clock_, logger_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  Status();  // the first one still answers
}

TEST_F(StatusTest, TheHealthServiceServes) { EXPECT_EQ(HealthOf(channel_), kServing); }

TEST_F(StatusTest, ReflectionNamesTheServiceAndItsCalls) {
  const std::string name = "profd.v1.Profiler";
  const std::string services = CallForeign(channel_, kReflection, kListServices);
  EXPECT_NE(services.find(static_cast<char>(name.size()) + name), std::string::npos) << services;
  const std::string file = CallForeign(
      channel_, kReflection, "\x22" + std::string(1, static_cast<char>(name.size())) + name);
  for (const std::string call : {"Collect", "Stop", "Dump", "Query", "Status"})
    EXPECT_NE(file.find(static_cast<char>(call.size()) + call), std::string::npos) << call;
}

}  // namespace
}  // namespace profd::test
