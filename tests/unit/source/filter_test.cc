#include "daemon/source/sessions/filter.h"

#include <gtest/gtest.h>

#include "tests/unit/source/fake_proc.h"

namespace profd::source {
namespace {

class FilterTest : public testing::Test {
 protected:
  FilterTest() {
    fake_.AddProcess(12, 1'000'000'000, "worker");
    fake_.Write("13/status", "Name:\tpool\nTgid:\t12\nPid:\t13\n");
  }
  Error ErrorOf(const session::Target& target) const {
    const auto filter = MakeFilter(target, fake_.proc());
    return filter ? Error{ErrorCode::kInternal, "no error", ""} : filter.error();
  }

  FakeProc fake_;
};

TEST_F(FilterTest, SaysWhatTheKernelSideNeeds) {
  const auto all = MakeFilter({.kernel_threads = true}, fake_.proc());
  ASSERT_TRUE(all);
  EXPECT_EQ(all->kind, static_cast<unsigned>(PROFD_TARGET_ALL));
  EXPECT_EQ(all->flags, static_cast<unsigned>(PROFD_TARGET_KERNEL_THREADS));

  const auto pids =
      MakeFilter({.kind = session::TargetKind::kPids, .ids = {12}, .children = true}, fake_.proc());
  ASSERT_TRUE(pids) << pids.error().message;
  EXPECT_EQ(pids->kind, static_cast<unsigned>(PROFD_TARGET_PID));
  EXPECT_EQ(pids->flags, static_cast<unsigned>(PROFD_TARGET_CHILDREN));

  const auto tids = MakeFilter({.kind = session::TargetKind::kTids, .ids = {13}}, fake_.proc());
  ASSERT_TRUE(tids) << tids.error().message;
  EXPECT_EQ(tids->kind, static_cast<unsigned>(PROFD_TARGET_TID));

  const auto comm =
      MakeFilter({.kind = session::TargetKind::kComm, .name = "exactly15 bytes"}, fake_.proc());
  ASSERT_TRUE(comm) << comm.error().message;
  EXPECT_STREQ(comm->comm, "exactly15 bytes");
}

TEST_F(FilterTest, WhatIsNotThereIsNamed) {
  const Error process = ErrorOf({.kind = session::TargetKind::kPids, .ids = {12, 1234}});
  EXPECT_EQ(process.code, ErrorCode::kNotFound);
  EXPECT_EQ(process.message, "cannot open process 1234: no such process");
  const Error thread = ErrorOf({.kind = session::TargetKind::kTids, .ids = {1234}});
  EXPECT_EQ(thread.message, "cannot open thread 1234: no such thread");
  const Error not_process = ErrorOf({.kind = session::TargetKind::kPids, .ids = {13}});
  EXPECT_EQ(not_process.code, ErrorCode::kNotFound);
  EXPECT_EQ(not_process.message, "cannot open process 13: it is a thread of process 12");
}

TEST_F(FilterTest, OfProcessesWithLabelsThoseThatAreLeftAreTheTarget) {
  const session::Target target{
      .kind = session::TargetKind::kPids, .ids = {12, 1234}, .labels = {"service.name=cart"}};
  const auto filter = MakeFilter(target, fake_.proc());
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(filter->kind, static_cast<unsigned>(PROFD_TARGET_PID));
  EXPECT_EQ(NotFound(target).message, "the processes with these labels have just ended");
}

TEST_F(FilterTest, IdsOfAnotherNamespaceAreLeftToTheKernel) {
  const auto filter = MakeFilter(
      {.kind = session::TargetKind::kPids, .ids = {1}, .pidns_inode = 4026531836}, fake_.proc());
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(filter->pidns_inum, 4026531836u);
}

TEST_F(FilterTest, RefusesNonsense) {
  EXPECT_EQ(ErrorOf({.kind = session::TargetKind::kPids}).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf({.kind = session::TargetKind::kComm}).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf({.kind = session::TargetKind::kComm, .name = "sixteen bytes xx"}).code,
            ErrorCode::kInvalidArgument);
  session::Target many{.kind = session::TargetKind::kPids};
  many.ids.assign(PROFD_MAX_FILTER_IDS + 1, 12);
  EXPECT_EQ(ErrorOf(many).code, ErrorCode::kExhausted);
}

TEST_F(FilterTest, CgroupsAreLookedForBelowTheMount) {
  EXPECT_EQ(ErrorOf({.kind = session::TargetKind::kCgroup, .name = "/x"}).code,
            ErrorCode::kUnsupported)
      << "no mounts in this /proc";
  fake_.Write("self/mounts",
              "none /proc proc rw 0 0\ncgroup2 " + fake_.root().string() + " cgroup2 rw 0 0\n");
  const Error missing = ErrorOf({.kind = session::TargetKind::kCgroup, .name = "/x"});
  EXPECT_EQ(missing.code, ErrorCode::kNotFound) << "a directory that is no cgroup";
  EXPECT_NE(missing.message.find("no such cgroup"), std::string::npos);
}

TEST_F(FilterTest, FindsTheCgroupsOfThisMachine) {
  const ProcFs proc;
  const auto root = CgroupDirectory("/", proc);
  if (!root && root.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << root.error().message;
  ASSERT_TRUE(root) << root.error().message;
  const auto filter = MakeFilter({.kind = session::TargetKind::kCgroup, .name = *root}, proc);
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(filter->kind, static_cast<unsigned>(PROFD_TARGET_CGROUP));
  EXPECT_NE(filter->cgroup_id, 0u);
}

TEST(NotFound, NamesAFewOfMany) {
  session::Target target{.kind = session::TargetKind::kPids, .ids = {1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(NotFound(target).message, "cannot open processes 1, 2, 3, 4, 5, ...: no such process");
}

}  // namespace
}  // namespace profd::source
