#include "client/system/invoking_user.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace profd::client {
namespace {

class InvokingUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: only root can drop to another user";
    ::setenv("SUDO_UID", "65534", 1);
    ::setenv("SUDO_GID", "65534", 1);
  }
  void TearDown() override {
    ::unsetenv("SUDO_UID");
    ::unsetenv("SUDO_GID");
  }
};

TEST_F(InvokingUserTest, IsTheOneBehindSudo) {
  const auto user = InvokingUser::FromEnvironment();
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->uid, 65534u);
  EXPECT_EQ(user->name, "nobody");
  EXPECT_FALSE(user->home.empty());
  EXPECT_NE(std::ranges::find(user->groups, 65534u), user->groups.end());
}

TEST_F(InvokingUserTest, OneWithoutAnEntryIsANumber) {
  ::setenv("SUDO_UID", "54321", 1);
  const auto user = InvokingUser::FromEnvironment();
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->name, "");
  EXPECT_EQ(user->groups, std::vector<gid_t>{65534});
}

TEST_F(InvokingUserTest, NoUserIsBehindRootOrNonsense) {
  for (const char* uid : {"0", "", "-1", "abc", "1x", "99999999999"}) {
    ::setenv("SUDO_UID", uid, 1);
    EXPECT_FALSE(InvokingUser::FromEnvironment().has_value()) << uid;
  }
  ::unsetenv("SUDO_UID");
  EXPECT_FALSE(InvokingUser::FromEnvironment().has_value());
}

}  // namespace
}  // namespace profd::client
