#include "client/link/daemon_choice.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

class DaemonChoiceTest : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("PROFD_HOST"); }
  void TearDown() override { ::unsetenv("PROFD_HOST"); }
};

TEST_F(DaemonChoiceTest, TheOptionGoesBeforeTheEnvironment) {
  EXPECT_EQ(*ExplicitAddress(""), "");
  EXPECT_EQ(*ExplicitAddress("localhost:1"), "localhost:1");
  ::setenv("PROFD_HOST", "unix:/x", 1);
  EXPECT_EQ(*ExplicitAddress(""), "unix:/x");
  EXPECT_EQ(*ExplicitAddress("localhost:1"), "localhost:1");
}

TEST_F(DaemonChoiceTest, Addresses) {
  EXPECT_EQ(*ExplicitAddress("/run/x.sock"), "unix:/run/x.sock");
  const auto no_port = ExplicitAddress("localhost");
  ASSERT_FALSE(no_port);
  EXPECT_EQ(no_port.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(UnixSocketPath("unix:/run/x.sock"), "/run/x.sock");
  EXPECT_EQ(UnixSocketPath("unix:///run/x.sock"), "/run/x.sock");
  EXPECT_EQ(UnixSocketPath("unix:x.sock"), "x.sock");
  EXPECT_EQ(UnixSocketPath("localhost:1"), "");
}

TEST_F(DaemonChoiceTest, AnExplicitHostIsNeverReplacedByAPrivateOne) {
  const test::TempFolder directory;
  const std::string address = "unix:" + directory.Path("none.sock");
  const auto needs_private = NeedsPrivateDaemon(address);
  ASSERT_TRUE(needs_private);
  EXPECT_FALSE(*needs_private);
  const auto client = ConnectToRunning(address);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(client.error().message.find("none.sock"), std::string::npos);
}

TEST_F(DaemonChoiceTest, ASocketThatNoProcessServes) {
  const test::TempFolder directory;
  directory.Write("file.sock", "no socket at all");
  for (const std::string& path : {directory.Path("none.sock"), directory.Path("file.sock")}) {
    const auto probe = ProbeUnixSocket(path);
    ASSERT_FALSE(probe);
    EXPECT_EQ(probe.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(probe.error().message.find(path), std::string::npos);
  }
  const auto probe = ProbeUnixSocket("/" + std::string(200, 'x'));
  ASSERT_FALSE(probe);
  EXPECT_EQ(probe.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(DaemonChoiceTest, MissingRightsAreNamed) {
  const test::TempFolder directory;
  const auto missing = [&](const std::string& mask) {
    directory.Write("self/status", "Name:\tx\nCapEff:\t" + mask + "\nSeccomp:\t0\n");
    const auto names = MissingCapabilities(ProcFs(directory.path()));
    EXPECT_TRUE(names);
    return names ? *names : std::vector<std::string>{};
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(missing("0000000000000000"), (Names{"CAP_BPF", "CAP_PERFMON"}));
  EXPECT_EQ(missing("000001ffffffffff"), Names{});
  EXPECT_EQ(missing("0000000000200000"), Names{}) << "CAP_SYS_ADMIN";
  EXPECT_EQ(missing("0000008000000000"), Names{"CAP_PERFMON"});
  EXPECT_EQ(missing("0000004000000000"), Names{"CAP_BPF"});
  directory.Write("self/status", "Name:\tx\n");
  EXPECT_FALSE(MissingCapabilities(ProcFs(directory.path())));
}

}  // namespace
}  // namespace profd::client
