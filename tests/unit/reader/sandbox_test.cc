// What a parser may no longer do: each case runs in a process that has entered the sandbox.
#include "daemon/reader/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace profd::reader {
namespace {

constexpr int kPassed = 17;

// The wait status of a process that enters a sandbox and then does something.
int StatusAfter(Result<void> (*enter)(const Limits&), const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!enter({})) ::_exit(1);
    ::_exit(body() ? kPassed : 2);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool IsKilledFor(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS; }
bool Passes(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == kPassed; }

TEST(ParserSandbox, ComputesAllocatesAndReadsWhatIsOpen) {
  const int open = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(open, 0);
  const int status = StatusAfter(EnterParserSandbox, [open] {
    std::vector<std::string> texts;
    for (int i = 0; i < 10'000; ++i) texts.push_back(std::to_string(i) + std::string(100, 'x'));
    char byte = 0;
    int from_thread = 0;
    std::thread([&] { from_thread = 1; }).join();
    return ::pread(open, &byte, 1, 0) == 1 && texts.size() == 10'000 && from_thread == 1;
  });
  ::close(open);
  EXPECT_TRUE(Passes(status)) << status;
}

TEST(ParserSandbox, EndsAtWhatItMayNotDo) {
  const pid_t parent = ::getpid();
  const std::vector<std::pair<const char*, std::function<bool()>>> forbidden{
      {"find a file below another",
       [] {
         open_how how{};
         return ::syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof how) >= 0;
       }},
      {"make a socket", [] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }},
      {"start a process", [] { return ::syscall(SYS_fork) > 0; }},
      {"run a program", [] { return ::execl("/bin/true", "true", nullptr) == 0; }},
      {"read another process",
       [parent] {
         return ::syscall(SYS_process_vm_readv, parent, nullptr, 0, nullptr, 0, 0) == 0;
       }},
      {"signal another process", [parent] { return ::kill(parent, 0) == 0; }},
      {"signal a thread of another process",
       [parent] { return ::syscall(SYS_tgkill, parent, parent, 0) == 0; }},
      {"make memory executable",
       [] {
         return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                MAP_FAILED;
       }},
      {"change a file", [] { return ::unlink("/tmp/no-such-file-of-profd") == 0; }},
      {"load a program into the kernel", [] { return ::syscall(SYS_bpf, 0, nullptr, 0) == 0; }},
  };
  for (const auto& [what, body] : forbidden)
    EXPECT_TRUE(IsKilledFor(StatusAfter(EnterParserSandbox, body))) << what;
}

// Libraries try to, and go on without.
TEST(ParserSandbox, OpensNoFile) {
  EXPECT_TRUE(Passes(StatusAfter(EnterParserSandbox, [] {
    return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES &&
           ::syscall(SYS_open, "/etc/passwd", O_RDONLY) < 0 && errno == EACCES;
  })));
}

TEST(OpenerSandbox, OpensFilesAndNothingElse) {
  EXPECT_TRUE(Passes(StatusAfter(EnterOpenerSandbox,
                                 [] { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0; })));
  EXPECT_TRUE(IsKilledFor(
      StatusAfter(EnterOpenerSandbox, [] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; })));
  EXPECT_TRUE(IsKilledFor(StatusAfter(EnterOpenerSandbox, [] { return ::syscall(SYS_fork) > 0; })));
  EXPECT_TRUE(
      IsKilledFor(StatusAfter(EnterOpenerSandbox, [] { return ::syscall(SYS_setuid, 0) == 0; })));
}

TEST(Sandboxes, KeepNoCapabilityThatTheyDoNotNeed) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: there is nothing to drop";
  // Binding a port below 1024 would need one; its socket is made before.
  EXPECT_FALSE(Passes(StatusAfter(EnterParserSandbox, [] { return MayChangeUser(); })));
  EXPECT_TRUE(Passes(StatusAfter(EnterOpenerSandbox, [] { return MayChangeUser(); })));
}

}  // namespace
}  // namespace profd::reader
