// Waits that end in some other way than by a thread that does its work: a timer, a disk, a signal,
// a death, a wake-up that is not for all of those who are woken.
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"
#include "tests/testprogs/truth.h"
#include "tests/testprogs/whom_truth.h"

namespace truth {

using profd::testprog::EndOf;
using profd::testprog::FutexGate;
using profd::testprog::FutexLock;
using profd::testprog::GiveAway;
using profd::testprog::HandOver;
using profd::testprog::Instant;
using profd::testprog::RawSharedFutexWait;
using profd::testprog::RawSharedFutexWake;
using profd::testprog::RawSleepUntil;
using profd::testprog::RawSyscall;
using profd::testprog::RunDelay;
using profd::testprog::SleepExactly;
using profd::testprog::SpinUntil;
using profd::testprog::TimedSleep;
using profd::testprog::WhomTruth;

namespace {

constexpr std::int64_t kMs = 1'000'000;

void Must(bool done) {
  if (!done) std::abort();
}

// A wait by the waiter's clock alone.
struct Waited {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

WhomTruth Whom(const std::string& waiter, const std::string& function, const std::string& path,
               const std::vector<Waited>& waits) {
  WhomTruth whom(waiter, function);
  for (const Waited& wait : waits) {
    whom.Wait(Instant::At(wait.begin_ns), Instant::At(wait.end_ns));
    whom.Part(path, Instant::At(wait.begin_ns), Instant::At(wait.end_ns));
  }
  return whom;
}

void PinTo(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  Must(sched_setaffinity(0, sizeof one, &one) == 0);
}

std::vector<int> OwnCpus() {
  cpu_set_t all;
  Must(sched_getaffinity(0, sizeof all, &all) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &all)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

PROFD_NAMED void SleepByTimer(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void PollTimer(int poll_fd, epoll_event& event) {
  RawSyscall(SYS_epoll_pwait, poll_fd, reinterpret_cast<long>(&event), 1, -1, 0, 8);
}
PROFD_NAMED void SpinBeside(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void SyncFile(int fd) { RawSyscall(SYS_fsync, fd); }

void Timers(Case& run) {
  std::vector<Waited> slept;
  std::vector<Waited> polled;
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const int poll_fd = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {}};
  Must(timer >= 0 && poll_fd >= 0 && epoll_ctl(poll_fd, EPOLL_CTL_ADD, timer, &wanted) == 0);
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  for (const int cpu : OwnCpus()) {
    run.report.Start("spins-" + std::to_string(cpu), [&run, cpu, end_ns](ThreadTruth& truth) {
      PinTo(cpu);
      truth.Phase("truth::SpinBeside", [&] { SpinBeside(run.counter.At(end_ns)); });
    });
  }
  run.report.Start("timers", [&](ThreadTruth&) {
    const RunDelay delay;
    SleepExactly();
    while (MonotonicNs() < end_ns) {
      Waited wait{.begin_ns = MonotonicNs()};
      wait.end_ns = EndOf(delay, [&] { SleepByTimer(wait.begin_ns + 3 * kMs); });
      slept.push_back(wait);
      itimerspec after{};
      after.it_value.tv_nsec = 5 * kMs;
      Must(timerfd_settime(timer, 0, &after, nullptr) == 0);
      epoll_event event{};
      wait.begin_ns = MonotonicNs();
      wait.end_ns = EndOf(delay, [&] { PollTimer(poll_fd, event); });
      polled.push_back(wait);
      std::uint64_t times = 0;
      Must(read(timer, &times, sizeof times) == sizeof times);
    }
  });
  run.report.Join();
  run.report.AddWhom(Whom("timers", "truth::SleepByTimer", "timer", slept).Json());
  run.report.AddWhom(Whom("timers", "truth::PollTimer", "timer", polled).Json());
}

void Fsync(Case& run) {
  std::vector<Waited> waits;
  const int fd = open(run.options.file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  Must(fd >= 0);
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("spins", [&](ThreadTruth& truth) {
    truth.Phase("truth::SpinBeside", [&] { SpinBeside(run.counter.At(end_ns)); });
  });
  run.report.Start("syncs", [&](ThreadTruth&) {
    const RunDelay delay;
    std::array<char, 4096> block{};
    while (MonotonicNs() < end_ns) {
      ++block[0];
      Must(pwrite(fd, block.data(), block.size(), 0) == static_cast<ssize_t>(block.size()));
      Waited wait{.begin_ns = MonotonicNs()};
      wait.end_ns = EndOf(delay, [&] { SyncFile(fd); });
      waits.push_back(wait);
    }
  });
  run.report.Join();
  close(fd);
  run.report.AddWhom(Whom("syncs", "truth::SyncFile", "disk", waits).Json());
}

PROFD_NAMED void AwaitChild(pid_t pid) {
  while (RawSyscall(SYS_wait4, pid, 0) == -EINTR) {
  }
}
PROFD_NAMED void ComputeInChild(std::uint64_t until) { SpinUntil(until); }

namespace {

// What a child writes where its parent reads it.
struct ChildLog {
  std::int64_t ending_ns = 0;
};

ChildLog* SharedLog() {
  void* const memory =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Must(memory != MAP_FAILED);
  return new (memory) ChildLog;
}

}  // namespace

void Children(Case& run) {
  ChildLog* const log = SharedLog();
  WhomTruth whom("parent", "truth::AwaitChild");
  run.report.Start("parent", [&](ThreadTruth&) {
    const RunDelay delay;
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    while (MonotonicNs() < end_ns) {
      const pid_t pid = fork();
      Must(pid >= 0);
      if (pid == 0) {
        ::prctl(PR_SET_NAME, "child");
        ComputeInChild(run.counter.After(5 * kMs));
        log->ending_ns = MonotonicNs();
        _exit(0);
      }
      const std::int64_t begin_ns = MonotonicNs();
      const std::int64_t taken_ns = EndOf(delay, [&] { AwaitChild(pid); });
      // It gives its memory back before it ends for its parent.
      const Instant until{log->ending_ns, std::max(log->ending_ns, taken_ns)};
      whom.Wait(Instant::At(begin_ns), until);
      whom.Part("child runs", Instant::At(begin_ns), until);
    }
  });
  run.report.Join();
  run.report.AddWhom(whom.Json());
}

PROFD_NAMED void PauseForSignal(const sigset_t& before) {
  RawSyscall(SYS_rt_sigsuspend, reinterpret_cast<long>(&before), 8);
}
PROFD_NAMED void SleepBeforeSignal(std::int64_t until_ns) { RawSleepUntil(until_ns); }

void Signals(Case& run) {
  struct Signal {
    TimedSleep sleep;
    HandOver over;
  };
  // The signal comes only while its thread pauses; all other threads leave it to that one.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigset_t it;
  sigemptyset(&it);
  sigaddset(&it, SIGUSR1);
  Must(sigaction(SIGUSR1, &action, nullptr) == 0 && pthread_sigmask(SIG_BLOCK, &it, nullptr) == 0);
  std::vector<Signal> signals;
  std::vector<Waited> pauses;
  std::atomic<bool> ends = false;
  std::atomic<std::uint32_t> paused = 0;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("kills", [&](ThreadTruth&) {
    const RunDelay delay;
    SleepExactly();
    while (!ends) {
      Signal& signal = signals.emplace_back();
      signal.sleep.Take(5 * kMs, delay, [](std::int64_t until_ns) { SleepBeforeSignal(until_ns); });
      // The one before has been seen: two would be one.
      while (paused + 1 < signals.size()) sched_yield();
      if (MonotonicNs() >= end_ns) ends = true;
      GiveAway(signal.over, [] { kill(getpid(), SIGUSR1); });
    }
  });
  run.report.Start("pauses", [&](ThreadTruth&) {
    const RunDelay delay;
    sigset_t none;
    sigemptyset(&none);
    while (!ends) {
      Waited wait{.begin_ns = MonotonicNs()};
      wait.end_ns = EndOf(delay, [&] { PauseForSignal(none); });
      pauses.push_back(wait);
      ++paused;
    }
  });
  run.report.Join();
  WhomTruth whom("pauses", "truth::PauseForSignal");
  for (std::size_t n = 0; n < pauses.size() && n < signals.size(); ++n) {
    Signal& signal = signals[n];
    signal.over.taken_ns = pauses[n].end_ns;
    const Instant begin = Instant::At(pauses[n].begin_ns);
    whom.Wait(begin, signal.over.At());
    whom.Part("kills runs", begin, signal.sleep.From());
    whom.Part("kills timer", signal.sleep.From(), signal.sleep.End());
    whom.Part("kills runs", signal.sleep.End(), signal.over.At());
  }
  run.report.AddWhom(whom.Json());
}

PROFD_NAMED void AwaitItem(pthread_cond_t& condition, pthread_mutex_t& mutex) {
  pthread_cond_wait(&condition, &mutex);
}
PROFD_NAMED void SleepBeforeItem(std::int64_t until_ns) { RawSleepUntil(until_ns); }

void Broadcast(Case& run) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  int items = 0;
  bool ends = false;
  std::array<std::vector<Waited>, 3> waits;
  std::array<std::int64_t, 3> in_vain{};
  std::vector<std::int64_t> broadcasts;
  run.report.Start("producer", [&](ThreadTruth&) {
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    while (MonotonicNs() < end_ns) {
      SleepBeforeItem(MonotonicNs() + 5 * kMs);
      pthread_mutex_lock(&mutex);
      ++items;
      broadcasts.push_back(MonotonicNs());
      pthread_cond_broadcast(&condition);
      pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    ends = true;
    broadcasts.push_back(MonotonicNs());
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  });
  for (std::size_t i = 0; i < waits.size(); ++i) {
    run.report.Start("consumer-" + std::to_string(i), [&, i](ThreadTruth&) {
      const RunDelay delay;
      pthread_mutex_lock(&mutex);
      while (!ends) {
        while (items == 0 && !ends) {
          Waited wait{.begin_ns = MonotonicNs()};
          wait.end_ns = EndOf(delay, [&] { AwaitItem(condition, mutex); });
          waits[i].push_back(wait);
          if (items == 0 && !ends) ++in_vain[i];
        }
        if (items > 0) --items;
      }
      pthread_mutex_unlock(&mutex);
    });
  }
  run.report.Join();
  for (std::size_t i = 0; i < waits.size(); ++i) {
    WhomTruth whom("consumer-" + std::to_string(i), "truth::AwaitItem");
    for (const Waited& wait : waits[i]) {
      // Then it waits for the mutex, which the others take, too.
      const auto next = std::ranges::upper_bound(broadcasts, wait.end_ns);
      const std::int64_t woken_ns = next == broadcasts.begin() ? 0 : *std::prev(next);
      const Instant until{std::max(wait.begin_ns, woken_ns), wait.end_ns};
      whom.Wait(Instant::At(wait.begin_ns), until);
      whom.Part("producer", Instant::At(wait.begin_ns), until);
    }
    nlohmann::json said = whom.Json();
    said["in_vain"] = in_vain[i];
    run.report.AddWhom(std::move(said));
  }
}

PROFD_NAMED void AwaitLateLock(FutexLock& lock) { lock.Lock(); }
PROFD_NAMED void HoldFirst(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void HoldLate(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void AwaitRound(const FutexGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }

void Late(Case& run) {
  // The first one holds the lock for 4 ms, asleep, while A waits for it. The late one, which has
  // slept, too, takes it in the very moment in which it is free, before A, which is woken in vain,
  // and computes 4 ms with it. Until then A has not waited for the late one.
  struct Round {
    std::int64_t begin_ns = 0;
    std::int64_t due_ns = 0;
    std::int64_t passing_ns = 0;
    std::int64_t late_ns = 0;
    HandOver over;
  };
  std::vector<Round> rounds(static_cast<std::size_t>(run.options.ns / (8 * kMs)) + 1);
  FutexLock lock;
  FutexGate to_a;
  FutexGate to_late;
  FutexGate to_first;
  std::atomic<std::uint32_t> passed = 0;
  std::atomic<bool> ends = false;
  std::uint32_t count = 0;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("late-first", [&](ThreadTruth&) {
    SleepExactly();
    for (std::uint32_t n = 0;; ++n) {
      AwaitRound(to_first, n);
      if (n >= rounds.size() || MonotonicNs() >= end_ns) break;
      lock.Lock();
      rounds[n].due_ns = MonotonicNs() + 4 * kMs;
      to_late.Open();
      to_a.Open();
      HoldFirst(rounds[n].due_ns);
      rounds[n].passing_ns = MonotonicNs();
      lock.Pass([&] { ++passed; });
    }
    ends = true;
    to_a.Open();
    to_late.Open();
  });
  run.report.Start("late-late", [&](ThreadTruth& truth) {
    SleepExactly();
    for (std::uint32_t n = 0;; ++n) {
      AwaitRound(to_late, n);
      if (ends) break;
      HoldFirst(rounds[n].due_ns - kMs / 2);
      rounds[n].late_ns = rounds[n].due_ns - kMs / 2;
      while (passed <= n) sched_yield();
      truth.Phase("truth::HoldLate", [&] { HoldLate(run.counter.After(4 * kMs)); });
      GiveAway(rounds[n].over, [&] { lock.Unlock(); });
    }
  });
  run.report.Start("late-a", [&](ThreadTruth&) {
    const RunDelay delay;
    for (;; ++count) {
      to_first.Open();
      AwaitRound(to_a, count);
      if (ends) break;
      Round& round = rounds[count];
      round.begin_ns = MonotonicNs();
      round.over.taken_ns = EndOf(delay, [&] { AwaitLateLock(lock); });
      lock.Unlock();
    }
  });
  run.report.Join();
  WhomTruth whom("late-a", "truth::AwaitLateLock");
  for (std::uint32_t n = 0; n < count; ++n) {
    const Round& round = rounds[n];
    const Instant begin = Instant::At(round.begin_ns);
    whom.Wait(begin, round.over.At());
    // It runs when it has slept and waits for the lock, or when it has got it.
    whom.Part("late-late runs", {round.late_ns, round.passing_ns}, round.over.At());
  }
  // While it waits for the lock it runs, for longer than this is to be exact.
  nlohmann::json said = whom.Json();
  said["has_lock"] = said["paths"]["late-late runs"];
  said.erase("paths");
  run.report.AddWhom(std::move(said));
}

namespace {

// A word that a child raises.
struct Grave {
  std::atomic<std::uint32_t> count{0};
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
};

// fork, but for the number of the child: one that was used before.
pid_t ForkAs(pid_t wanted, std::uint64_t flags) {
  clone_args args{};
  args.flags = flags;
  args.exit_signal = SIGCHLD;
  if (wanted != 0) {
    args.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
    args.set_tid_size = 1;
  }
  return static_cast<pid_t>(syscall(SYS_clone3, &args, sizeof args));
}

}  // namespace

PROFD_NAMED void AwaitDying(const std::atomic<std::uint32_t>& count, std::uint32_t passed) {
  for (std::uint32_t now = count.load(); now <= passed; now = count.load())
    RawSharedFutexWait(count, now);
}
PROFD_NAMED void ComputeAndDie(std::uint64_t until) { SpinUntil(until); }

void Deaths(Case& run) {
  void* const memory =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Must(memory != MAP_FAILED);
  auto& grave = *new (memory) Grave;
  nlohmann::json turns = nlohmann::json::array();
  bool again = true;
  run.report.Start("mourner", [&](ThreadTruth&) {
    const RunDelay delay;
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    pid_t used = 0;
    for (std::uint32_t n = 0; MonotonicNs() < end_ns; ++n) {
      // Each third one is the first of a pid namespace of its own.
      const bool apart = n % 3 == 2;
      pid_t pid = ForkAs(apart ? 0 : used, apart ? CLONE_NEWPID : 0);
      if (pid < 0) {
        again = false;
        pid = ForkAs(0, 0);
      }
      Must(pid >= 0);
      const std::string name = "dies-" + std::to_string(n);
      if (pid == 0) {
        ::prctl(PR_SET_NAME, name.c_str());
        ComputeAndDie(run.counter.After(3 * kMs));
        grave.before_ns = MonotonicNs();
        grave.count.fetch_add(1);
        RawSharedFutexWake(grave.count, 1);
        _exit(0);
      }
      if (!apart) used = pid;
      Waited wait{.begin_ns = MonotonicNs()};
      wait.end_ns = EndOf(delay, [&] { AwaitDying(grave.count, n); });
      turns.push_back({{"name", name},
                       {"pid", pid},
                       {"apart", apart},
                       {"begin_ns", wait.begin_ns},
                       {"giving_ns", grave.before_ns},
                       {"end_ns", wait.end_ns}});
      Must(waitpid(pid, nullptr, 0) == pid);
    }
  });
  run.report.Join();
  run.report.AddWhom({{"waiter", "mourner"},
                      {"function", "truth::AwaitDying"},
                      {"numbers_used_again", again},
                      {"turns", std::move(turns)}});
}

PROFD_NAMED void AwaitStorm(const FutexGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }

void Storm(Case& run) {
  struct Pair {
    FutexGate there;
    FutexGate back;
    std::atomic<bool> ends{false};
  };
  const std::size_t count = 2 * OwnCpus().size();
  std::vector<Pair> pairs(count);
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  for (std::size_t i = 0; i < count; ++i) {
    Pair& pair = pairs[i];
    run.report.Start("storm-a-" + std::to_string(i), [&pair, end_ns](ThreadTruth&) {
      std::uint32_t n = 0;
      for (; MonotonicNs() < end_ns; ++n) {
        pair.there.Open();
        AwaitStorm(pair.back, n);
      }
      pair.ends = true;
      pair.there.Open();
    });
    run.report.Start("storm-b-" + std::to_string(i), [&pair](ThreadTruth&) {
      for (std::uint32_t n = 0;; ++n) {
        AwaitStorm(pair.there, n);
        if (pair.ends) break;
        pair.back.Open();
      }
    });
  }
  run.report.Join();
}

}  // namespace truth
