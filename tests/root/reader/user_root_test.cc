// Whose share of the readers a process uses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>

#include "daemon/base/unique_fd.h"
#include "daemon/reader/reader_pool.h"

namespace profd::reader {
namespace {

constexpr uid_t kUser = 4'200'501;
constexpr uid_t kSubordinate = 4'300'001;

// A process that has done `prepare`; it ends with this.
class Child {
 public:
  explicit Child(const std::function<bool()>& prepare) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return;
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (!prepare() || ::write(to.get(), "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    to.Reset();
    char done = 0;
    ready_ = ::read(from.get(), &done, 1) == 1;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] std::uint32_t user() const { return UserOf(static_cast<std::uint32_t>(pid_)); }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

// As newuidmap and newgidmap do.
void MapIds(pid_t pid) {
  for (const char* map : {"/uid_map", "/gid_map"})
    std::ofstream("/proc/" + std::to_string(pid) + map) << "0 " << kSubordinate << " 10\n";
}

bool Become(uid_t user) {
  return ::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0;
}

class UserRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_F(UserRootTest, AnOrdinaryProcessIsItsUsers) {
  const Child root([] { return true; });
  const Child user([] { return Become(kUser); });
  ASSERT_TRUE(root.ready() && user.ready());
  EXPECT_EQ(root.user(), 0u);
  EXPECT_EQ(user.user(), kUser);
  EXPECT_EQ(UserOf(0), 0u);
}

TEST_F(UserRootTest, AProcessThatHidesItsMemoryIsItsUsers) {
  const Child hidden([] { return Become(kUser) && ::prctl(PR_SET_DUMPABLE, 0) == 0; });
  ASSERT_TRUE(hidden.ready());
  EXPECT_EQ(hidden.user(), kUser);
}

TEST_F(UserRootTest, OtherIdsInANamespaceOfAUserAreThatUsers) {
  const Child outer([&] { return Become(kUser) && ::unshare(CLONE_NEWUSER) == 0; });
  ASSERT_TRUE(outer.ready()) << "user namespaces are off";
  MapIds(outer.pid());
  const std::string ns = "/proc/" + std::to_string(outer.pid()) + "/ns/user";
  const auto enter = [&](bool nested) {
    return [&ns, nested] {
      const UniqueFd fd(::open(ns.c_str(), O_RDONLY | O_CLOEXEC));
      return fd.valid() && ::setns(fd.get(), CLONE_NEWUSER) == 0 && Become(3) &&
             (!nested || ::unshare(CLONE_NEWUSER) == 0);
    };
  };
  const Child inner(enter(false));
  ASSERT_TRUE(inner.ready());
  EXPECT_EQ(inner.user(), kUser);
  const Child nested(enter(true));
  ASSERT_TRUE(nested.ready());
  EXPECT_EQ(nested.user(), kUser);
}

TEST_F(UserRootTest, IdsInANamespaceOfRootAreTheirOwn) {
  const Child outer([] { return ::unshare(CLONE_NEWUSER) == 0; });
  ASSERT_TRUE(outer.ready()) << "user namespaces are off";
  MapIds(outer.pid());
  const std::string ns = "/proc/" + std::to_string(outer.pid()) + "/ns/user";
  const Child inner([&] {
    const UniqueFd fd(::open(ns.c_str(), O_RDONLY | O_CLOEXEC));
    return fd.valid() && ::setns(fd.get(), CLONE_NEWUSER) == 0 && Become(3);
  });
  ASSERT_TRUE(inner.ready());
  EXPECT_EQ(inner.user(), kSubordinate + 3);
}

}  // namespace
}  // namespace profd::reader
