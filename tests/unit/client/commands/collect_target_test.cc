#include "client/commands/common/collect_target.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

class CheckTargetTest : public ::testing::Test {
 protected:
  CheckTargetTest() {
    directory_.Write("100/status", "Name:\ta\nTgid:\t100\nPid:\t100\n");
    directory_.Write("101/status", "Name:\ta\nTgid:\t100\nPid:\t101\n");
    directory_.Write("200/status", "Name:\tb\n");
  }
  Result<void> Pids(std::vector<std::uint32_t> ids) {
    v1::Target target;
    target.mutable_pids()->mutable_id()->Add(ids.begin(), ids.end());
    return CheckTarget(target, ProcFs(directory_.path()));
  }
  Result<void> Tids(std::vector<std::uint32_t> ids) {
    v1::Target target;
    target.mutable_tids()->mutable_id()->Add(ids.begin(), ids.end());
    return CheckTarget(target, ProcFs(directory_.path()));
  }

  test::TempFolder directory_;
};

TEST_F(CheckTargetTest, WhatIsThere) {
  EXPECT_TRUE(Pids({100}));
  EXPECT_TRUE(Tids({100, 101}));
  v1::Target all;
  all.set_all(true);
  EXPECT_TRUE(CheckTarget(all, ProcFs(directory_.path())));
}

TEST_F(CheckTargetTest, TheFirstThatIsNotThereIsNamed) {
  const auto pids = Pids({100, 999});
  ASSERT_FALSE(pids);
  EXPECT_EQ(pids.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(pids.error().message, "cannot open process 999: no such process");
  EXPECT_EQ(Tids({998}).error().message, "cannot open thread 998: no such thread");
  EXPECT_FALSE(Pids({200})) << "a status without a thread group";
}

TEST_F(CheckTargetTest, AThreadIsNoProcess) {
  const auto pids = Pids({101});
  ASSERT_FALSE(pids);
  EXPECT_NE(pids.error().message.find("thread of process 100"), std::string::npos);
  EXPECT_EQ(pids.error().hint, "use -t 101, or -p 100");
}

TEST(CollectTargetTest, AsArguments) {
  v1::Target target;
  target.mutable_pids()->add_id(1);
  target.mutable_pids()->add_id(2);
  target.set_children(true);
  EXPECT_EQ(TargetArguments(target, false), "-p 1,2 -s");
  EXPECT_EQ(TargetArguments(target, true), "-p 1,2") << "children of a command are followed";
  target.set_comm("a\x1b");
  target.set_children(false);
  EXPECT_EQ(TargetArguments(target, false), "--comm a?");
  target.set_all(true);
  EXPECT_EQ(TargetArguments(target, false), "-a");
  target.mutable_labels()->add_label("service.name=cart");
  EXPECT_EQ(TargetArguments(target, false), "--service cart");
  target.mutable_labels()->add_label("k8s.pod.name=cart-*");
  EXPECT_EQ(TargetArguments(target, false), "--service cart --label k8s.pod.name='cart-*'");
}

TEST(CollectTargetTest, AsPeopleReadIt) {
  v1::Target target;
  target.mutable_pids()->add_id(4242);
  v1::Started started;
  started.set_threads(9);
  v1::Process& process = *started.add_processes();
  process.set_pid(4242);
  process.set_comm("python3");
  EXPECT_EQ(DescribeStarted(target, false, started), "4242 (python3) and its 9 threads");
  process.set_command_line("python3 train.py");
  started.set_threads(1);
  EXPECT_EQ(DescribeStarted(target, false, started), "4242 (python3 train.py)");
  started.add_processes()->set_pid(4243);
  started.set_threads(1'234);
  EXPECT_EQ(DescribeStarted(target, false, started), "-p 4242, 2 processes with 1,234 threads");
  target.set_all(true);
  EXPECT_EQ(DescribeStarted(target, false, started),
            "the whole host, 2 processes with 1,234 threads");
  target.mutable_labels()->add_label("service.name=cart");
  target.mutable_labels()->add_label("service.version=1.*");
  EXPECT_EQ(DescribeStarted(target, false, started),
            "service.name=cart, service.version=1.*, 2 processes with 1,234 threads");
}

std::string CgroupOf(const std::string& written) {
  v1::Target target;
  target.set_cgroup(written);
  return TargetFromHere(std::move(target)).cgroup();
}

TEST(CollectTargetTest, ACgroupThatIsNotThereIsLeftToProfd) {
  EXPECT_EQ(CgroupOf("/no/such/cgroup"), "/no/such/cgroup");
  EXPECT_EQ(CgroupOf("/sys/fs/cgroup/x"), "/sys/fs/cgroup/x");
}

TEST(CollectTargetTest, OurPidNamespace) { EXPECT_NE(TargetFromHere({}).pidns_inode(), 0u); }

}  // namespace
}  // namespace profd::client
