// A thread that spins, in both modes: it is never blocked, and running is its own CPU time,
// whatever the hypervisor takes from it.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "tests/root/source/live_test.h"
#include "tests/support/eventually.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kTick = 10 * kMs;  // at 100 Hz, the slowest that kernels are built with

std::uint64_t Now(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The CPU time of a thread, read between the two instants.
struct Reading {
  std::uint64_t before_ns = 0;
  std::uint64_t after_ns = 0;
  std::uint64_t cpu_ns = 0;
};

// What a process that spins writes while another one reads.
struct Diary {
  static constexpr std::size_t kMost = 1 << 20;

  std::atomic<bool> over = false;
  std::atomic<std::size_t> count = 0;
  Reading readings[kMost];

  // The last one that was over by then, and the first one that began after it.
  [[nodiscard]] std::pair<Reading, Reading> Around(std::uint64_t time_ns) const {
    const std::span all(readings, count.load());
    const auto next = std::ranges::upper_bound(all, time_ns, {}, &Reading::before_ns);
    auto last = next;
    while (last != all.begin() && std::prev(last)->after_ns > time_ns) --last;
    EXPECT_TRUE(next != all.end() && last != all.begin()) << "it spins before and after";
    if (next == all.end() || last == all.begin()) return {};
    return {*std::prev(last), *next};
  }
};

struct Unmap {
  void operator()(Diary* diary) const { ::munmap(diary, sizeof(Diary)); }
};

void Spin(Diary& diary) {
  std::uint64_t next_ns = 0;
  while (!diary.over) {
    Reading reading;
    reading.before_ns = Now(CLOCK_MONOTONIC);
    if (reading.before_ns < next_ns || diary.count == Diary::kMost) continue;
    reading.cpu_ns = Now(CLOCK_THREAD_CPUTIME_ID);
    reading.after_ns = Now(CLOCK_MONOTONIC);
    diary.readings[diary.count] = reading;
    ++diary.count;
    next_ns = reading.after_ns + kMs / 10;
  }
}

enum class Mode { kHooks, kSnapshot };

class StolenTest : public LiveTest, public testing::WithParamInterface<Mode> {};

TEST_P(StolenTest, ASpinnersRunningIsItsCpuTimeAndItIsNeverBlocked) {
  void* memory =
      ::mmap(nullptr, sizeof(Diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::unique_ptr<Diary, Unmap> diary(new (memory) Diary);
  const Puppet puppet([&](const Puppet::Strings&) { Spin(*diary); });
  ASSERT_TRUE(test::Eventually([&] { return diary->count > 1; }));
  session::SessionSpec spec = SpecOf(puppet);
  spec.observed = GetParam() == Mode::kSnapshot;
  if (spec.observed && !live_->source().can_observe()) GTEST_SKIP() << "observers need two CPUs";
  const auto session = live_->Begin(spec);
  // So long is the session, and some more is written after it.
  const std::size_t begun = diary->count;
  ASSERT_TRUE(test::Eventually([&] { return diary->count > begun + 5'000; }));
  const Heard heard = live_->End(session);
  const std::size_t ended = diary->count;
  ASSERT_TRUE(test::Eventually([&] { return diary->count > ended + 1; }));
  diary->over = true;

  const auto start = heard.AtStart(puppet.pid());
  const auto end = heard.AtEnd(puppet.pid());
  ASSERT_TRUE(start && end);
  EXPECT_EQ(start->observation.has_value(), spec.observed);
  const std::uint64_t elapsed_ns = heard.ElapsedNs();
  // Of run and stolen time only the sum is sure to grow; see profd_clock.
  const auto grown = [&](auto of) { return of(end->at_epoch) - of(start->at_epoch); };
  const std::uint64_t blocked_ns = grown(BlockedOf);
  const std::uint64_t running_ns = grown([](const profd_clock& clock) { return clock.on_cpu_ns; });
  EXPECT_EQ(blocked_ns, 0u);
  EXPECT_EQ(grown(SumOf), elapsed_ns) << "the parts add up";

  // At either end the thread may have run, or may have been kept from it, since its last reading;
  // and the kernel's own sum is a tick old at most.
  const auto [a, b] = diary->Around(heard.start.epoch_ns);
  const auto [c, d] = diary->Around(heard.end.epoch_ns);
  const std::uint64_t apart_ns = (b.after_ns - a.before_ns) + (d.after_ns - c.before_ns) + kTick;
  EXPECT_LE(running_ns, d.cpu_ns - a.cpu_ns + apart_ns);
  EXPECT_GE(running_ns + apart_ns, c.cpu_ns - b.cpu_ns);
  std::cout << "running " << running_ns << " ns, its CPU time from " << c.cpu_ns - b.cpu_ns
            << " to " << d.cpu_ns - a.cpu_ns << " ns, stolen " << grown(StolenOf) << " of "
            << elapsed_ns << " ns\n";
}

INSTANTIATE_TEST_SUITE_P(Modes, StolenTest, testing::Values(Mode::kHooks, Mode::kSnapshot),
                         [](const auto& one) {
                           return one.param == Mode::kHooks ? "Hooks" : "Snapshot";
                         });

}  // namespace
}  // namespace profd::source
