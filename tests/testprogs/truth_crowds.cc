#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

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
  run.report.Start("ping", [&run, &ping, &pong, end_ns](ThreadTruth&) {
    while (MonotonicNs() < end_ns) {
      RawWrite(ping[1]);
      WaitForPong(pong[0]);
    }
    close(ping[1]);
  });
  run.report.Start("pong", [&ping, &pong](ThreadTruth&) {
    while (WaitForPing(ping[0])) RawWrite(pong[1]);
  });
  run.report.Join();
}

void Threads(Case& run) {
  const std::int64_t begin_ns = MonotonicNs();
  for (std::uint32_t i = 0; i < run.options.lives; ++i) {
    RawSleepUntil(begin_ns + run.options.ns * i / run.options.lives);
    run.report.Start("life-" + std::to_string(i), [&run](ThreadTruth& truth) {
      truth.Phase("truth::LiveAndSpin", [&] { LiveAndSpin(run.counter.After(200'000)); });
      truth.Phase("truth::LiveAndSleep", [] { LiveAndSleep(); });
    });
  }
}

void Forks(Case& run) {
  // As fast as it goes, four at a time.
  std::uint32_t started = 0;
  std::uint32_t alive = 0;
  while (started < run.options.lives || alive > 0) {
    if (started < run.options.lives && alive < 4) {
      const pid_t child = fork();
      if (child == 0) {
        SpinInChild(run.counter.After(1'000'000));
        _exit(0);
      }
      if (child < 0) std::abort();
      ++started;
      ++alive;
      continue;
    }
    rusage usage{};
    int status = 0;
    const pid_t ended = wait4(-1, &status, 0, &usage);
    if (ended < 0) std::abort();
    --alive;
    const auto ns = [](const timeval& time) {
      return time.tv_sec * 1'000'000'000 + time.tv_usec * 1'000;
    };
    run.report.Add({{"name", "child"},
                    {"tid", ended},
                    {"cpu_ns", ns(usage.ru_utime) + ns(usage.ru_stime)},
                    {"voluntary", usage.ru_nvcsw},
                    {"involuntary", usage.ru_nivcsw}});
  }
}

}  // namespace truth
