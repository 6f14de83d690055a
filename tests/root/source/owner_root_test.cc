#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/root/source/live_test.h"
#include "tests/support/eventually.h"

namespace profd::source {
namespace {

using wire::ClockEvent;

constexpr uid_t kAlice = 4'200'001;
constexpr uid_t kBob = 4'200'002;
constexpr std::uint64_t kMs = 1'000'000;

// What execve does for a program of the user's own: the memory is the user's to look at.
void Become(uid_t uid) {
  if (::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0 ||
      ::prctl(PR_SET_DUMPABLE, 1) != 0)
    ::_exit(1);
}

// Computes until the test ends it.
void Work(const Puppet::Strings& strings) {
  strings.Say({ThreadId()});
  strings.Wait();
  Spin(20 * kMs);
  strings.Say({1});
  strings.Wait();
}

// "": there is no such process.
std::string CommOf(std::uint32_t pid) {
  const auto comm = ProcFs().Read(std::to_string(pid) + "/comm");
  return comm && !comm->empty() ? comm->substr(0, comm->size() - 1) : std::string();
}

class OwnerTest : public LiveTest {
 protected:
  static session::SessionSpec SpecFor(const std::string& target, uid_t uid) {
    return SpecOf(target + " +uid=" + std::to_string(uid));
  }
  static std::set<std::uint32_t> Members(const Heard& heard) {
    std::set<std::uint32_t> pids;
    for (const auto& clock : heard.All<ClockEvent>())
      if ((clock.header.sessions >> heard.start.session & 1) != 0)
        pids.insert(clock.header.process.pid);
    return pids;
  }
};

TEST_F(OwnerTest, AUserSeesOnlyWhatIsExclusivelyTheUsers) {
  const Puppet alice([](const Puppet::Strings& strings) { Become(kAlice), Work(strings); });
  const Puppet bob([](const Puppet::Strings& strings) { Become(kBob), Work(strings); });
  const Puppet root([](const Puppet::Strings& strings) { Work(strings); });
  const Puppet half([](const Puppet::Strings& strings) {
    if (::setresuid(kAlice, kAlice, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) ::_exit(1);
    Work(strings);
  });
  const Puppet secretive([](const Puppet::Strings& strings) {
    Become(kAlice);
    ::prctl(PR_SET_DUMPABLE, 0);
    Work(strings);
  });
  const Puppet privileged([](const Puppet::Strings& strings) {
    ::prctl(PR_SET_KEEPCAPS, 1);
    Become(kAlice);
    Work(strings);
  });
  const auto everyone = {&alice, &bob, &root, &half, &secretive, &privileged};
  for (const auto* puppet : everyone) ASSERT_NE(puppet->Hear(1)[0], 0u);

  const auto session = live_->Begin(SpecFor("all", kAlice));
  for (const auto* puppet : everyone) puppet->Go();
  for (const auto* puppet : everyone) ASSERT_EQ(puppet->Hear(1)[0], 1u);
  EXPECT_EQ(Members(live_->End(session)), std::set{alice.pid()});
}

// In namespaces of their own, processes belong to the same users as before.
TEST_F(OwnerTest, NamespacesChangeNoOwner) {
  // The root of a container: uid 0 inside, with all rights there, and an ordinary user outside.
  const auto contain = [](uid_t uid) {
    Become(uid);
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    return ::setresuid(0, 0, 0) == 0 && ::prctl(PR_SET_DUMPABLE, 1) == 0;
  };
  const Puppet inside([&](const Puppet::Strings& strings) {
    if (!contain(kAlice)) strings.Say({0}), ::_exit(0);
    Work(strings);
  });
  const Puppet of_bob([&](const Puppet::Strings& strings) {
    if (!contain(kBob)) strings.Say({0}), ::_exit(0);
    Work(strings);
  });
  // Another mount and pid namespace, of root and of the user.
  const auto apart = [](uid_t uid) {
    return [uid](const Puppet::Strings& strings) {
      if (::unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) ::_exit(1);
      Become(uid);
      Work(strings);
    };
  };
  const Puppet roots(apart(0));
  const Puppet alices(apart(kAlice));
  if (inside.Hear(1)[0] == 0 || of_bob.Hear(1)[0] == 0)
    GTEST_SKIP() << "this kernel forbids user namespaces to users";
  ASSERT_NE(roots.Hear(1)[0], 0u);
  ASSERT_NE(alices.Hear(1)[0], 0u);

  const auto session = live_->Begin(SpecFor("all", kAlice));
  for (const auto* puppet : {&inside, &of_bob, &roots, &alices}) puppet->Go();
  for (const auto* puppet : {&inside, &of_bob, &roots, &alices}) ASSERT_EQ(puppet->Hear(1)[0], 1u);
  EXPECT_EQ(Members(live_->End(session)), (std::set{inside.pid(), alices.pid()}));
}

TEST_F(OwnerTest, WhoOwnsTheProgramDoesNotOwnTheProcess) {
  std::string pattern = (std::filesystem::temp_directory_path() / "profd_owner.XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  const auto program = [&directory](const char* name, mode_t mode) {
    const std::string path = directory / name;
    std::filesystem::copy_file("/bin/sleep", path);
    EXPECT_EQ(::chown(path.c_str(), kAlice, kAlice), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  };
  for (const auto& path : {program("lent", 0755), program("setuid", 04755)}) {
    const Puppet bob([&path](const Puppet::Strings& strings) {
      Become(kBob);
      strings.Say({ThreadId()});
      ::execl(path.c_str(), "sleep", "100", nullptr);
    });
    ASSERT_EQ(bob.Hear(1)[0], bob.pid());
    bob.AwaitState('S');
    ASSERT_TRUE(test::Eventually([&] {
      return CommOf(bob.pid()) == std::filesystem::path(path).filename();
    })) << path;
    const auto refused =
        live_->source().StartSession(SpecFor("pid " + std::to_string(bob.pid()), kAlice));
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  }
  std::filesystem::remove_all(directory);
}

TEST_F(OwnerTest, ChildrenOfTheUserAreTheUsersUntilTheyExecuteAnothersProgram) {
  std::string pattern = (std::filesystem::temp_directory_path() / "profd_owner.XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  const auto other = directory / "sleep";
  std::filesystem::copy_file("/bin/sleep", other);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(other.c_str(), 0711), 0);  // it may be executed, but not read

  const Puppet alice([&](const Puppet::Strings& strings) {
    Become(kAlice);
    strings.Say({ThreadId()});
    strings.Wait();
    const pid_t same = ::fork();
    if (same == 0) ::execl("/bin/sleep", "sleep", "100", nullptr);
    const pid_t stranger = ::fork();
    if (stranger == 0) ::execl(other.c_str(), "sleep", "100", nullptr);
    strings.Say({static_cast<std::uint64_t>(same), static_cast<std::uint64_t>(stranger)});
    strings.Wait();
    ::kill(same, SIGKILL);
    ::kill(stranger, SIGKILL);
    while (::wait(nullptr) > 0) {
    }
    strings.Say({1});
    strings.Wait();
  });
  ASSERT_NE(alice.Hear(1)[0], 0u);
  const auto session =
      live_->Begin(SpecFor("pid " + std::to_string(alice.pid()) + " +children", kAlice));
  alice.Go();
  const auto children = alice.Hear(2);
  const auto same = static_cast<std::uint32_t>(children[0]);
  const auto stranger = static_cast<std::uint32_t>(children[1]);
  for (const auto child : {same, stranger}) {
    ASSERT_TRUE(test::Eventually([&] { return CommOf(child) == "sleep"; }));
    ASSERT_TRUE(test::Eventually([&] {
      const auto stat = ProcFs().Read(std::to_string(child) + "/stat");
      return stat && stat->find(") S") != std::string::npos;
    }));
  }
  alice.Go();
  ASSERT_EQ(alice.Hear(1)[0], 1u);
  const Heard heard = live_->End(session);
  std::filesystem::remove_all(directory);

  // The stranger's last word is from before it was one.
  std::uint64_t executed_ns = 0;
  for (const auto& clock : heard.All<ClockEvent>())
    if (clock.end && clock.header.process.pid == stranger) executed_ns = clock.header.time_ns;
  EXPECT_NE(executed_ns, 0u);
  std::set<std::uint32_t> execs;
  for (const auto& exec : heard.All<wire::ExecEvent>()) execs.insert(exec.header.process.pid);
  EXPECT_EQ(execs, std::set{same});
  for (const auto& exit : heard.All<wire::ExitEvent>())
    EXPECT_NE(exit.header.process.pid, stranger);
  for (const auto& stack : heard.All<wire::StackEvent>())
    EXPECT_TRUE(stack.header.process.pid != stranger || stack.header.time_ns <= executed_ns);
}

TEST_F(OwnerTest, NothingIsFoundOfOtherUsersProcesses) {
  const Puppet bob([](const Puppet::Strings& strings) { Become(kBob), Work(strings); });
  ASSERT_NE(bob.Hear(1)[0], 0u);
  const auto refused =
      live_->source().StartSession(SpecFor("pid " + std::to_string(bob.pid()), kAlice));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace profd::source
