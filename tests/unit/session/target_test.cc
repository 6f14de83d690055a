#include <gtest/gtest.h>

#include "daemon/session/session_control.h"

namespace profd::session {
namespace {

void ExpectSurvives(const session::Target& target, const std::string& text) {
  EXPECT_EQ(session::FormatTarget(target), text);
  const auto parsed = session::ParseTarget(session::FormatTarget(target));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->kind, target.kind);
  EXPECT_EQ(parsed->ids, target.ids);
  EXPECT_EQ(parsed->name, target.name);
  EXPECT_EQ(parsed->labels, target.labels);
  EXPECT_EQ(parsed->children, target.children);
  EXPECT_EQ(parsed->kernel_threads, target.kernel_threads);
  EXPECT_EQ(parsed->pidns_inode, target.pidns_inode);
  EXPECT_EQ(parsed->uid, target.uid);
}

TEST(Target, SurvivesItsTextForm) {
  ExpectSurvives({}, "all");
  ExpectSurvives({.kernel_threads = true}, "all +kernel");
  ExpectSurvives({.pidns_inode = 7, .uid = 1000}, "all +uid=1000 +pidns=7");
  ExpectSurvives({.kind = session::TargetKind::kPids, .ids = {12, 13}, .children = true},
                 "pid 12,13 +children");
  ExpectSurvives({.kind = session::TargetKind::kTids, .ids = {4294967295}}, "tid 4294967295");
  ExpectSurvives({.kind = session::TargetKind::kComm, .name = "redis-server"}, "comm redis-server");
  ExpectSurvives(
      {.kind = session::TargetKind::kComm, .name = "tokio runtime w", .kernel_threads = true},
      "comm tokio runtime w +kernel");
  ExpectSurvives({.kind = session::TargetKind::kCgroup, .name = "/a.slice/b", .children = true},
                 "cgroup /a.slice/b +children");
  ExpectSurvives(
      {.kind = session::TargetKind::kPids, .ids = {1}, .children = true, .pidns_inode = 77},
      "pid 1 +children +pidns=77");
}

TEST(Target, LabelsSurvive) {
  ExpectSurvives({.kind = session::TargetKind::kLabels,
                  .labels = {"service.name=cart", "k8s.pod.name=cart-*"},
                  .children = true,
                  .uid = 7},
                 "label service.name=cart,k8s.pod.name=cart-* +children +uid=7");
  ExpectSurvives({.kind = session::TargetKind::kLabels, .labels = {"a=1,2", "b= +kernel", "c="}},
                 "label a=1\\x2c2,b= \\x2bkernel,c=");
  session::Target found{.kind = session::TargetKind::kPids, .labels = {"service.name=cart"}};
  found.ids = {12, 13};
  EXPECT_EQ(session::FormatTarget(found), "label service.name=cart")
      << "which processes have them is not a part of it";
}

TEST(Target, NamesThatLookLikeFlagsSurvive) {
  ExpectSurvives({.kind = session::TargetKind::kComm, .name = "a +children"},
                 "comm a \\x2bchildren");
  ExpectSurvives({.kind = session::TargetKind::kComm, .name = "+kernel", .kernel_threads = true},
                 "comm \\x2bkernel +kernel");
  ExpectSurvives({.kind = session::TargetKind::kComm, .name = "a\\x2b\n\x7f"},
                 "comm a\\x5cx2b\\x0a\\x7f");
  ExpectSurvives({.kind = session::TargetKind::kComm, .name = "c++"}, "comm c++");
  ExpectSurvives({.kind = session::TargetKind::kComm, .name = "\xff\xfe"}, "comm \xff\xfe");
}

TEST(Target, RefusesWhatIsNone) {
  for (const char* text : {"", "pid", "pid ", "pid 0", "pid 1,", "pid ,1", "pid x", "pid -1",
                           "pid 4294967296", "tid 1 2", "comm", "comm ", "cgroup ", "all of it",
                           "some", "comm \\x2", "comm \\q", "label", "label "}) {
    const auto parsed = session::ParseTarget(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace profd::session
