// Threads of one process that wait for each other. Each logs when it got what it waited for, and
// when it gave something away; when all have ended, the logs say on whom each one waited.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
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
using profd::testprog::RawFutexWait;
using profd::testprog::RawFutexWake;
using profd::testprog::RawSleepUntil;
using profd::testprog::RunDelay;
using profd::testprog::SleepExactly;
using profd::testprog::SpinUntil;
using profd::testprog::ThreadCpuNs;
using profd::testprog::TimedSleep;
using profd::testprog::WhomTruth;

namespace {

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

PROFD_NAMED void AwaitB(const FutexGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void AwaitC(const FutexGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void AwaitA(const FutexGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void ComputeB(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void ComputeC(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void SleepInC(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void SleepThree(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void SleepSeven(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void HoldAsleep(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void AwaitEither(const FutexGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void AwaitBusyWorker(const FutexGate& gate, std::uint32_t n) { gate.WaitBeyond(n); }
PROFD_NAMED void WorkBriefly(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void RestBriefly(std::int64_t until_ns) { RawSleepUntil(until_ns); }

void Chain(Case& run) {
  struct Cycle {
    std::int64_t begin_ns = 0;  // A begins to wait
    TimedSleep sleep;           // C's
    HandOver to_b;
    HandOver to_a;
  };
  std::vector<Cycle> cycles(static_cast<std::size_t>(run.options.ns / (9 * kMs)) + 1);
  FutexGate of_a;
  FutexGate of_b;
  FutexGate of_c;
  std::atomic<bool> ends = false;
  std::uint32_t count = 0;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("chain-b", [&](ThreadTruth& truth) {
    const RunDelay delay;
    for (std::uint32_t n = 0;; ++n) {
      const std::int64_t taken_ns = EndOf(delay, [&] { AwaitC(of_b, n); });
      if (ends) break;
      cycles[n].to_b.taken_ns = taken_ns;
      truth.Phase("truth::ComputeB", [&] { ComputeB(run.counter.After(3 * kMs)); });
      GiveAway(cycles[n].to_a, [&] { of_a.Open(); });
    }
  });
  run.report.Start("chain-c", [&](ThreadTruth& truth) {
    const RunDelay delay;
    SleepExactly();
    for (std::uint32_t n = 0;; ++n) {
      AwaitA(of_c, n);
      if (ends) break;
      cycles[n].sleep.Take(4 * kMs, delay, [](std::int64_t until_ns) { SleepInC(until_ns); });
      truth.Phase("truth::ComputeC", [&] { ComputeC(run.counter.After(2 * kMs)); });
      GiveAway(cycles[n].to_b, [&] { of_b.Open(); });
    }
  });
  // The last one: those for whom it waits must be there.
  run.report.Start("chain-a", [&](ThreadTruth&) {
    const RunDelay delay;
    for (; count < cycles.size() && MonotonicNs() < end_ns; ++count) {
      of_c.Open();
      cycles[count].begin_ns = MonotonicNs();
      cycles[count].to_a.taken_ns = EndOf(delay, [&] { AwaitB(of_a, count); });
    }
    ends = true;
    of_b.Open();
    of_c.Open();
  });
  run.report.Join();
  WhomTruth whom("chain-a", "truth::AwaitB");
  for (std::uint32_t n = 0; n < count; ++n) {
    const Cycle& cycle = cycles[n];
    const Instant begin = Instant::At(cycle.begin_ns);
    whom.Wait(begin, cycle.to_a.At());
    whom.Part("chain-b chain-c runs", begin, cycle.sleep.From());
    whom.Part("chain-b chain-c timer", cycle.sleep.From(), cycle.sleep.End());
    whom.Part("chain-b chain-c runs", cycle.sleep.End(), cycle.to_b.At());
    whom.Part("chain-b runs", cycle.to_b.At(), cycle.to_a.At());
  }
  run.report.AddWhom(whom.Json());
}

void TwoWakers(Case& run) {
  struct Turn {
    std::int64_t begin_ns = 0;
    TimedSleep sleep;
    HandOver over;
  };
  std::vector<Turn> turns(static_cast<std::size_t>(run.options.ns / (3 * kMs)) + 2);
  FutexGate to_waiter;
  std::array<FutexGate, 2> to_wakers;
  std::atomic<bool> ends = false;
  std::uint32_t count = 0;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  const auto wakes = [&](std::uint32_t which, std::int64_t ns, auto sleeps) {
    return [&, which, ns, sleeps](ThreadTruth&) {
      const RunDelay delay;
      SleepExactly();
      for (std::uint32_t n = 0;; ++n) {
        AwaitA(to_wakers[which], n);
        if (ends) break;
        Turn& turn = turns[2 * n + which];
        turn.sleep.Take(ns, delay, sleeps);
        GiveAway(turn.over, [&] { to_waiter.Open(); });
      }
    };
  };
  run.report.Start("two-three", wakes(0, 3 * kMs, [](std::int64_t until) { SleepThree(until); }));
  run.report.Start("two-seven", wakes(1, 7 * kMs, [](std::int64_t until) { SleepSeven(until); }));
  run.report.Start("two-a", [&](ThreadTruth&) {
    const RunDelay delay;
    for (; count < turns.size() && MonotonicNs() < end_ns; ++count) {
      to_wakers[count % 2].Open();
      turns[count].begin_ns = MonotonicNs();
      turns[count].over.taken_ns = EndOf(delay, [&] { AwaitEither(to_waiter, count); });
    }
    ends = true;
    for (FutexGate& gate : to_wakers) gate.Open();
  });
  run.report.Join();
  WhomTruth whom("two-a", "truth::AwaitEither");
  for (std::uint32_t n = 0; n < count; ++n) {
    const Turn& turn = turns[n];
    const std::string name = n % 2 == 0 ? "two-three" : "two-seven";
    const Instant begin = Instant::At(turn.begin_ns);
    whom.Wait(begin, turn.over.At());
    whom.Part(name + " runs", begin, turn.sleep.From());
    whom.Part(name + " timer", turn.sleep.From(), turn.sleep.End());
    whom.Part(name + " runs", turn.sleep.End(), turn.over.At());
  }
  run.report.AddWhom(whom.Json());
}

namespace {

// A lock that its waiters get in the order in which they came; each waits for a word of its own.
class FairLock {
 public:
  static constexpr bool kSpins = false;
  PROFD_INLINE std::uint32_t Come() { return next_.fetch_add(1); }
  PROFD_INLINE void Await(std::uint32_t ticket) {
    std::atomic<std::uint32_t>& served = served_[ticket % served_.size()];
    for (std::uint32_t now = served.load(); now != ticket; now = served.load())
      RawFutexWait(served, now);
  }
  PROFD_INLINE void Leave(std::uint32_t ticket) {
    std::atomic<std::uint32_t>& served = served_[(ticket + 1) % served_.size()];
    served = ticket + 1;
    RawFutexWake(served, 1);
  }

 private:
  std::atomic<std::uint32_t> next_{0};
  std::array<std::atomic<std::uint32_t>, 16> served_{0};  // the last ticket of each
};

// The kernel hands it to the first of those who wait for it. That one does not sleep while the
// owner is on a CPU.
class PiLock {
 public:
  static constexpr bool kSpins = true;
  PiLock() {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0 ||
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) != 0 ||
        pthread_mutex_init(&mutex_, &attributes) != 0)
      std::abort();
  }
  PiLock(const PiLock&) = delete;
  PiLock& operator=(const PiLock&) = delete;
  ~PiLock() { pthread_mutex_destroy(&mutex_); }
  std::uint32_t Come() { return 0; }
  void Await(std::uint32_t) { pthread_mutex_lock(&mutex_); }
  void Leave(std::uint32_t) { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_{};
};

// Once through a queue.
struct Hold {
  std::int64_t begin_ns = 0;  // begins to wait
  std::int64_t given_ns = 0;  // the end of the wait
  std::int64_t got_ns = 0;
  std::int64_t awake_ns = 0;  // of the wait: it ran, or waited for a CPU
  TimedSleep sleep;
  std::int64_t leaving_ns = 0;
  std::int64_t left_ns = 0;
};

struct Member {
  std::string name;
  std::int64_t hold_ns = 0;
  std::vector<Hold> holds;
};

struct Holding {
  const Member* member;
  const Hold* hold;
};

// What one of them waited for: those who held the lock meanwhile.
void AddQueueTruth(const Member& member, const std::vector<Holding>& all, const char* function,
                   Case& run) {
  WhomTruth whom(member.name, function);
  for (const Hold& mine : member.holds) {
    // Who held it last has given it to this one.
    const auto next = std::ranges::lower_bound(all, mine.got_ns, {},
                                               [](const Holding& one) { return one.hold->got_ns; });
    Instant until = Instant::At(mine.begin_ns);
    std::int64_t awake_ns = mine.awake_ns;  // of it, before the lock was free
    if (next != all.begin()) {
      const Hold& last = *std::prev(next)->hold;
      until = {std::max(mine.begin_ns, last.leaving_ns),
               std::max({mine.begin_ns, last.leaving_ns, std::min(last.left_ns, mine.given_ns)})};
      awake_ns -= std::clamp<std::int64_t>(mine.got_ns - last.left_ns, 0, awake_ns);
    }
    whom.Wait(Instant::At(mine.begin_ns), until, awake_ns);
    for (auto one = next; one != all.begin();) {
      --one;
      const Hold& its = *one->hold;
      if (its.left_ns < mine.begin_ns) break;
      const std::string& name = one->member->name;
      // It has got the lock when the one before it gave it away.
      Instant got = Instant::At(its.got_ns);
      if (one != all.begin()) {
        const Hold& before = *std::prev(one)->hold;
        got = {std::min(its.got_ns, before.leaving_ns), std::min(its.got_ns, before.left_ns)};
      }
      const auto after = std::next(one);
      const std::int64_t given_ns = after == all.end() ? its.left_ns : after->hold->given_ns;
      const Instant gave{its.leaving_ns, std::min(its.left_ns, std::max(its.leaving_ns, given_ns))};
      // The first of those who wait may not have slept meanwhile.
      const std::int64_t unsure_ns = after == next ? awake_ns : 0;
      whom.Part(name + " runs", got, its.sleep.From());
      whom.Part(name + " timer", its.sleep.From(), its.sleep.End(), unsure_ns);
      whom.Part(name + " runs", its.sleep.End(), gave, unsure_ns);
    }
  }
  run.report.AddWhom(whom.Json());
}

template <typename Lock>
void Queue(Case& run, const char* prefix, const char* function,
           void (*awaits)(Lock&, std::uint32_t)) {
  Lock lock;
  std::array<Member, 4> members;
  const std::array<std::int64_t, 4> holds{kMs / 2, kMs, 2 * kMs, 4 * kMs};
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    member.name = std::string(prefix) + "-" + std::array{"half", "one", "two", "four"}[i];
    member.hold_ns = holds[i];
    member.holds.reserve(static_cast<std::size_t>(run.options.ns / (7 * kMs)) + 16);
    run.report.Start(member.name, [&lock, &member, awaits, end_ns](ThreadTruth&) {
      const RunDelay delay;
      SleepExactly();
      while (MonotonicNs() < end_ns) {
        Hold hold;
        const std::uint32_t ticket = lock.Come();
        hold.begin_ns = MonotonicNs();
        const std::int64_t cpu_ns = ThreadCpuNs();
        const std::int64_t delay_ns = delay.Ns();
        awaits(lock, ticket);
        hold.got_ns = MonotonicNs();
        const std::int64_t delayed_ns = delay.Ns() - delay_ns;
        hold.awake_ns = Lock::kSpins ? ThreadCpuNs() - cpu_ns + delayed_ns : 0;
        hold.given_ns = Lock::kSpins ? hold.got_ns : hold.got_ns - delayed_ns;
        hold.sleep.Take(member.hold_ns, delay, [](std::int64_t until_ns) { HoldAsleep(until_ns); });
        hold.leaving_ns = MonotonicNs();
        lock.Leave(ticket);
        hold.left_ns = MonotonicNs();
        member.holds.push_back(hold);
      }
    });
  }
  run.report.Join();
  std::vector<Holding> all;
  for (const Member& member : members)
    for (const Hold& hold : member.holds) all.push_back({&member, &hold});
  std::ranges::sort(all, {}, [](const Holding& one) { return one.hold->got_ns; });
  for (const Member& member : members) AddQueueTruth(member, all, function, run);
}

}  // namespace

PROFD_NAMED void AwaitTurn(FairLock& lock, std::uint32_t ticket) { lock.Await(ticket); }
PROFD_NAMED void AwaitPiTurn(PiLock& lock, std::uint32_t ticket) { lock.Await(ticket); }

void FairQueue(Case& run) { Queue<FairLock>(run, "fair", "truth::AwaitTurn", AwaitTurn); }

void PiQueue(Case& run) { Queue<PiLock>(run, "pi", "truth::AwaitPiTurn", AwaitPiTurn); }

void Many(Case& run) {
  // W computes 0.3 ms and sleeps 0.7 ms so often while A waits.
  constexpr int kPieces = 500;
  struct Piece {
    std::int64_t began_ns = 0;
    TimedSleep sleep;
  };
  struct Job {
    std::int64_t begin_ns = 0;
    std::array<Piece, kPieces> pieces;
    HandOver over;
  };
  std::vector<Job> jobs(static_cast<std::size_t>(run.options.ns / (kPieces * kMs)) + 1);
  FutexGate of_a;
  FutexGate of_w;
  std::atomic<bool> ends = false;
  std::uint32_t count = 0;
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  run.report.Start("many-w", [&](ThreadTruth& truth) {
    const RunDelay delay;
    SleepExactly();
    for (std::uint32_t n = 0;; ++n) {
      AwaitA(of_w, n);
      if (ends) break;
      for (Piece& piece : jobs[n].pieces) {
        piece.began_ns = MonotonicNs();
        truth.Phase("truth::WorkBriefly", [&] { WorkBriefly(run.counter.After(3 * kMs / 10)); });
        piece.sleep.Take(7 * kMs / 10, delay, [](std::int64_t until_ns) { RestBriefly(until_ns); });
      }
      GiveAway(jobs[n].over, [&] { of_a.Open(); });
    }
  });
  run.report.Start("many-a", [&](ThreadTruth&) {
    const RunDelay delay;
    for (; count < jobs.size() && MonotonicNs() < end_ns; ++count) {
      of_w.Open();
      jobs[count].begin_ns = MonotonicNs();
      jobs[count].over.taken_ns = EndOf(delay, [&] { AwaitBusyWorker(of_a, count); });
    }
    ends = true;
    of_w.Open();
  });
  run.report.Join();
  WhomTruth whom("many-a", "truth::AwaitBusyWorker");
  for (std::uint32_t n = 0; n < count; ++n) {
    const Job& job = jobs[n];
    whom.Wait(Instant::At(job.begin_ns), job.over.At());
    Instant from = Instant::At(job.begin_ns);
    for (const Piece& piece : job.pieces) {
      whom.Part("many-w runs", from, piece.sleep.From());
      whom.Part("many-w timer", piece.sleep.From(), piece.sleep.End());
      from = piece.sleep.End();
    }
    whom.Part("many-w runs", from, job.over.At());
  }
  run.report.AddWhom(whom.Json());
}

}  // namespace truth
