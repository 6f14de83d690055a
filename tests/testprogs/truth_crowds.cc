#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"
#include "tests/testprogs/truth.h"

namespace truth {

using profd::testprog::FutexLock;
using profd::testprog::RawRead;
using profd::testprog::RawSleep;
using profd::testprog::RawSleepUntil;
using profd::testprog::RawWrite;
using profd::testprog::SpinUntil;

namespace {

void UseOneCpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

}  // namespace

PROFD_NAMED void WaitForConvoyLock(FutexLock& lock) { lock.Lock(); }
PROFD_NAMED void HoldConvoyLock(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void SleepOutsideLock() { RawSleep(500'000); }
PROFD_NAMED bool WaitForPing(int fd) { return RawRead(fd); }
PROFD_NAMED bool WaitForPong(int fd) { return RawRead(fd); }
PROFD_NAMED void PlayPing(std::array<int, 2>& ping, std::array<int, 2>& pong, std::int64_t end_ns) {
  while (MonotonicNs() < end_ns) {
    RawWrite(ping[1]);
    WaitForPong(pong[0]);
  }
  close(ping[1]);
}
PROFD_NAMED void PlayPong(std::array<int, 2>& ping, std::array<int, 2>& pong) {
  while (WaitForPing(ping[0])) RawWrite(pong[1]);
}
PROFD_NAMED void LiveAndSpin(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void LiveAndSleep() { RawSleep(2'000'000); }
PROFD_NAMED void SpinInChild(std::uint64_t until) { SpinUntil(until); }

void Convoy(Case& run) {
  FutexLock lock;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  for (std::uint32_t i = 0; i < run.options.threads; ++i) {
    run.report.Start("convoy-" + std::to_string(i), [&run, &lock, end_ns](ThreadTruth& truth) {
      while (MonotonicNs() < end_ns) {
        truth.Phase("truth::WaitForConvoyLock", [&] { WaitForConvoyLock(lock); });
        truth.Phase("truth::HoldConvoyLock", [&] { HoldConvoyLock(run.counter.After(1'000'000)); });
        lock.Unlock();
        // Else the one that has just unlocked takes it again before the next one wakes.
        truth.Phase("truth::SleepOutsideLock", [] { SleepOutsideLock(); });
      }
    });
  }
  run.report.Join();
}

void PingPong(Case& run) {
  UseOneCpu();
  std::array<int, 2> ping{};
  std::array<int, 2> pong{};
  if (pipe(ping.data()) != 0 || pipe(pong.data()) != 0) std::abort();
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  // No clocks are read a round trip: they would cost as much as the switches that are to be seen.
  run.report.Start("ping", [&ping, &pong, end_ns](ThreadTruth& truth) {
    truth.Phase("truth::PlayPing", [&] { PlayPing(ping, pong, end_ns); });
  });
  run.report.Start("pong", [&ping, &pong](ThreadTruth& truth) {
    truth.Phase("truth::PlayPong", [&] { PlayPong(ping, pong); });
  });
  run.report.Join();
}

void Threads(Case& run) {
  const std::int64_t begin_ns = MonotonicNs();
  for (std::uint32_t i = 0; i < run.options.lives; ++i) {
    run.report.JoinEnded();
    RawSleepUntil(begin_ns + run.options.ns * i / run.options.lives);
    run.report.Start("life-" + std::to_string(i), [&run](ThreadTruth& truth) {
      truth.Phase("truth::LiveAndSpin", [&] { LiveAndSpin(run.counter.After(600'000)); });
      truth.Phase("truth::LiveAndSleep", [] { LiveAndSleep(); });
    });
  }
}

namespace {

// A child that lives: what it says of itself comes through the pipe.
struct Child {
  pid_t pid = -1;
  std::int64_t created_ns = 0;
  int said = -1;
};

Child StartChild(const Case& run, std::uint32_t number) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::abort();
  Child child{.created_ns = MonotonicNs(), .said = ends[0]};
  child.pid = fork();
  if (child.pid < 0) std::abort();
  if (child.pid == 0) {
    ThreadTruth truth("child-" + std::to_string(number));
    truth.Phase("truth::SpinInChild", [&] { SpinInChild(run.counter.After(1'000'000)); });
    const std::string said = truth.Finish().dump();
    // As much fits into a pipe without a reader.
    if (write(ends[1], said.data(), said.size()) != static_cast<ssize_t>(said.size())) std::abort();
    _exit(0);
  }
  close(ends[1]);
  return child;
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = read(fd, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(got));
  close(fd);
  return text;
}

}  // namespace

void Forks(Case& run) {
  // As fast as it goes, four at a time.
  std::uint32_t started = 0;
  std::map<pid_t, Child> alive;
  while (started < run.options.lives || !alive.empty()) {
    if (started < run.options.lives && alive.size() < 4) {
      const Child child = StartChild(run, started++);
      alive.emplace(child.pid, child);
      continue;
    }
    // The time at which it has ended comes before the reading of what it has used.
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) != 0) std::abort();
    const std::int64_t joined_ns = MonotonicNs();
    rusage usage{};
    int status = 0;
    if (wait4(ended.si_pid, &status, 0, &usage) != ended.si_pid || status != 0) std::abort();
    const auto child = alive.extract(ended.si_pid);
    nlohmann::json found = nlohmann::json::parse(ReadAll(child.mapped().said));
    found["created_ns"] = child.mapped().created_ns;
    found["joined_ns"] = joined_ns;
    found["waited_cpu_ns"] = profd::testprog::CpuNs(usage);
    run.report.Add(std::move(found));
  }
}

}  // namespace truth
