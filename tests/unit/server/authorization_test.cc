#include "daemon/server/grpc/auth/authorization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/unit/source/fake_proc.h"

namespace profd::server {
namespace {

using session::Target;
using session::TargetKind;
using testing::HasSubstr;
using testing::Not;

const std::uint32_t kMe = ::getuid();  // who owns the files of the tree below

class AuthorizationTest : public testing::Test {
 protected:
  AuthorizationTest() {
    Add(12, Uids(kMe, kMe, kMe, kMe), 0);
    Add(13, Uids(kMe + 1, kMe, kMe, kMe), 0);
  }
  static std::string Uids(std::uint32_t real, std::uint32_t effective, std::uint32_t saved,
                          std::uint32_t files) {
    return std::to_string(real) + "\t" + std::to_string(effective) + "\t" + std::to_string(saved) +
           "\t" + std::to_string(files);
  }
  void Add(std::uint32_t pid, const std::string& uids, unsigned permitted) const {
    fake_.Write(
        std::to_string(pid) + "/status",
        "Name:\tx\nUid:\t" + uids + "\nCapPrm:\t000000000" + std::to_string(permitted) + "\n");
  }
  static server::Caller User(std::uint32_t uid) { return {.uid = uid, .pid = 7, .name = "alice"}; }

  source::FakeProc fake_;
  const server::Caller root_{.uid = 0, .name = "root", .sees_all = true};
  const server::Caller remote_{
      .kind = server::Caller::Kind::kCertificate, .name = "ops", .sees_all = true};
};

TEST_F(AuthorizationTest, WhoSeesAllSeesAllAndOthersWhatIsExclusivelyTheirs) {
  EXPECT_TRUE(server::MaySee(root_, ExclusiveOwner()));
  EXPECT_TRUE(server::MaySee(remote_, ExclusiveOwner(5)));
  EXPECT_TRUE(server::MaySee(User(5), ExclusiveOwner(5)));
  EXPECT_FALSE(server::MaySee(User(5), ExclusiveOwner(6)));
  EXPECT_FALSE(server::MaySee(User(5), ExclusiveOwner()));
  // A certificate has no uid that could be taken for one.
  EXPECT_FALSE(server::MaySee({.kind = server::Caller::Kind::kCertificate, .uid = 5, .name = ""},
                              ExclusiveOwner(5)));
  EXPECT_TRUE(server::MaySee(User(5), process::Owner{.uid = 5, .sole = true, .user = ""}));
  EXPECT_FALSE(server::MaySee(User(5), process::Owner{.uid = 5, .sole = false, .user = ""}));
  EXPECT_TRUE(server::MaySee(User(5), server::ClientName(User(5))));
  EXPECT_FALSE(server::MaySee(User(5), server::ClientName(root_)));
}

TEST_F(AuthorizationTest, AProcessIsOfOneUserOnlyIfAllItsIdsAre) {
  EXPECT_EQ(*server::GetOwner(12, fake_.proc()), ExclusiveOwner(kMe));
  EXPECT_EQ(*server::GetOwner(13, fake_.proc()), ExclusiveOwner());
  Add(14, Uids(kMe + 1, kMe + 1, kMe + 1, kMe + 1), 0);  // not dumpable: its files are another's
  EXPECT_EQ(*server::GetOwner(14, fake_.proc()), ExclusiveOwner());
  Add(15, Uids(kMe, kMe, kMe, kMe), 8);  // it has rights, and no user namespace of its own
  EXPECT_EQ(*server::GetOwner(15, fake_.proc()), ExclusiveOwner());
  fake_.Write("16/status", "Uid:\tnonsense\n");
  EXPECT_EQ(*server::GetOwner(16, fake_.proc()), ExclusiveOwner());
  EXPECT_EQ(server::GetOwner(99, fake_.proc()).error().code, ErrorCode::kNotFound);
}

TEST_F(AuthorizationTest, ATargetIsConfinedToTheCaller) {
  Target all{.kernel_threads = true};
  ASSERT_TRUE(server::Confine(User(5), fake_.proc(), all));
  EXPECT_EQ(all.uid, 5u);
  EXPECT_FALSE(all.kernel_threads);

  Target anything{.kind = TargetKind::kPids, .ids = {13}};
  ASSERT_TRUE(server::Confine(root_, fake_.proc(), anything));
  EXPECT_FALSE(anything.uid.has_value());

  Target own{.kind = TargetKind::kPids, .ids = {12}};
  EXPECT_TRUE(server::Confine(User(kMe), fake_.proc(), own));
  Target others{.kind = TargetKind::kPids, .ids = {12, 13}};
  const auto refused = server::Confine(User(kMe), fake_.proc(), others);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(refused.error().message, "process 13 is not owned by alice alone");
  EXPECT_THAT(refused.error().hint, HasSubstr("group profd"));

  // That there is no such process is the same answer: /proc may hide those of others.
  Target none{.kind = TargetKind::kPids, .ids = {12, 99}};
  const auto missing = server::Confine(User(kMe), fake_.proc(), none);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(missing.error().message, "process 99 is not owned by alice alone");
  EXPECT_EQ(missing.error().hint, refused.error().hint);
}

TEST_F(AuthorizationTest, IdsOfProfdsOwnNamespaceAreLookedAtAndOthersLeftToTheKernelSide) {
  fake_.Write("self/ns/pid", "");
  struct stat ours {};
  ASSERT_EQ(::stat((fake_.root() / "self/ns/pid").c_str(), &ours), 0);
  const auto inode = static_cast<std::uint32_t>(ours.st_ino);
  Target same{.kind = TargetKind::kPids, .ids = {13}, .pidns_inode = inode};
  EXPECT_EQ(server::Confine(User(kMe), fake_.proc(), same).error().code,
            ErrorCode::kPermissionDenied);
  Target other{.kind = TargetKind::kPids, .ids = {13}, .pidns_inode = inode + 1};
  EXPECT_TRUE(server::Confine(User(kMe), fake_.proc(), other));
  EXPECT_EQ(other.uid, kMe);
}

TEST_F(AuthorizationTest, FailuresInsideOfProfdNameNoFiles) {
  const auto hidden = [](ErrorCode code) {
    return server::HideHost(Error{code, "cannot read /var/lib/profd/history.db", "see /var/log"});
  };
  for (const auto code : {ErrorCode::kIo, ErrorCode::kCorrupt, ErrorCode::kInternal}) {
    EXPECT_EQ(hidden(code).code, code);
    EXPECT_THAT(hidden(code).message + hidden(code).hint, Not(HasSubstr("/var")));
  }
  const Error about_the_request{ErrorCode::kNotFound, "there is no window in this time range", ""};
  EXPECT_EQ(server::HideHost(about_the_request).message, about_the_request.message);
}

TEST_F(AuthorizationTest, TheStatusForUsersNamesNoReceiver) {
  v1::StatusResponse status;
  status.add_exports()->set_to("otlp+grpc://inside.example.org:4317");
  status.add_container_runtimes("containerd at /run/containerd/containerd.sock");
  server::HideHost(status);
  EXPECT_EQ(status.exports_size(), 0);
  EXPECT_EQ(status.container_runtimes_size(), 0);
}

TEST_F(AuthorizationTest, KernelAddressesAreHiddenAndTheirNamesKept) {
  v1::Profile profile;
  auto& kernel = *profile.add_frames();
  kernel.set_kind(v1::FRAME_KERNEL);
  kernel.set_name("do_futex");
  kernel.set_offset(0xffffffff81234567);
  auto& native = *profile.add_frames();
  native.set_kind(v1::FRAME_NATIVE);
  native.set_offset(0x1234);
  server::HideKernelAddresses(profile);
  EXPECT_EQ(profile.frames(0).offset(), 0u);
  EXPECT_EQ(profile.frames(0).name(), "do_futex");
  EXPECT_EQ(profile.frames(1).offset(), 0x1234u);
}

}  // namespace
}  // namespace profd::server
