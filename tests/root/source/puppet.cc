#include "tests/root/source/puppet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/support/eventually.h"

namespace profd::source {
namespace {

std::uint64_t ReadClock(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bool ReadAll(int fd, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(fd, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

// Of the process or thread that has this folder.
void AwaitStateIn(const std::string& folder, char state) {
  EXPECT_TRUE(test::Eventually([&] {
    std::ifstream file(folder + "/stat");
    const std::string stat(std::istreambuf_iterator<char>(file), {});
    const auto bracket = stat.rfind(')');
    if (bracket == std::string::npos) return true;  // gone
    return stat[bracket + 2] == state || stat[bracket + 2] == 'Z';
  })) << folder
      << " does not get to state " << state;
}

}  // namespace

void Puppet::Strings::Wait() const {
  char go = 0;
  if (!ReadAll(in_, &go, 1)) ::_exit(1);
}

void Puppet::Strings::Say(const std::vector<std::uint64_t>& numbers) const {
  const std::size_t bytes = numbers.size() * sizeof(numbers[0]);
  if (::write(out_, numbers.data(), bytes) != static_cast<ssize_t>(bytes)) ::_exit(1);
}

Puppet::Puppet(const Body& body) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (::pipe2(down.data(), O_CLOEXEC) != 0 || ::pipe2(up.data(), O_CLOEXEC) != 0) std::abort();
  pid_ = ::fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    ::close(down[1]);
    ::close(up[0]);
    body(Strings(down[0], up[1]));
    ::_exit(0);
  }
  ::close(down[0]);
  ::close(up[1]);
  to_.Reset(down[1]);
  from_.Reset(up[0]);
}

Puppet::~Puppet() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Puppet::Go() const {
  if (::write(to_.get(), "g", 1) != 1) std::abort();
}

std::vector<std::uint64_t> Puppet::Hear(std::size_t count) const {
  std::vector<std::uint64_t> numbers(count);
  if (!ReadAll(from_.get(), numbers.data(), count * sizeof(numbers[0]))) numbers.assign(count, 0);
  return numbers;
}

bool Puppet::Join() {
  int status = -1;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void Puppet::AwaitState(char state) const { AwaitStateIn("/proc/" + std::to_string(pid_), state); }

void Puppet::AwaitStateOfAll(char state) const {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task"))
    AwaitStateIn(task.path(), state);
}

bool Puppet::AwaitCpu(std::uint64_t ns) const {
  clockid_t clock = 0;
  if (::clock_getcpuclockid(pid_, &clock) != 0) return false;
  return test::Eventually([&] { return ReadClock(clock) >= ns; });
}

std::uint64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }
std::uint64_t ThreadCpuNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

void Spin(std::uint64_t ns) {
  const std::uint64_t end = ThreadCpuNs() + ns;
  while (ThreadCpuNs() < end) {
  }
}

Puppet::Body SpinPhases(std::vector<std::uint64_t> spins_ns) {
  return [spins = std::move(spins_ns)](const Puppet::Strings& strings) {
    for (const std::uint64_t ns : spins) {
      strings.Wait();
      const std::uint64_t begin = ThreadCpuNs();
      Spin(ns);
      strings.Say({ThreadCpuNs() - begin});
    }
    strings.Wait();
  };
}

std::uint32_t ThreadId() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

}  // namespace profd::source
