// Counters of threads on the real kernel. Most machines that run tests have no hardware counters,
// so software events stand for them: page faults for cache misses and instructions, and the clock
// of the CPU for cycles. What a thread does to either is known to the kernel's own accounting.
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/proc/proc_stat.h"
#include "daemon/source/perf/perf_event.h"
#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::size_t kPages = 2'000;
constexpr std::uint32_t kAll = 7;  // a bit for each counter

PmuEvents::Attributes SoftwareCounters() {
  return {MakePerfAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
          MakePerfAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN),
          MakePerfAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN)};
}

std::uint64_t FaultsOfThread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

// Of another thread that sleeps. More than it says of its own work: pages of its program may be
// taken away at any time, and come back by a fault.
std::uint64_t FaultsOf(std::uint32_t pid) {
  constexpr int kMinorFaults = 10;
  const std::string number = std::to_string(pid);
  const auto stat = ProcFs().Read(number + "/task/" + number + "/stat");
  return stat ? StatField(*stat, kMinorFaults).value_or(0) : 0;
}

// What touches pages is in a section of its own, so that its addresses are known.
extern "C" {
extern const char __start_touching[];
extern const char __stop_touching[];
}

std::uint64_t Distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

bool IsTouching(std::uint64_t address) {
  address &= ~PROFD_FRAME_EXACT;
  return address >= reinterpret_cast<std::uintptr_t>(__start_touching) &&
         address < reinterpret_cast<std::uintptr_t>(__stop_touching);
}

// Writes to `pages` that no memory stands behind yet.
[[gnu::noinline, gnu::section("touching")]] void TouchFreshPages(std::size_t pages) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* fresh = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) std::abort();
  ::madvise(fresh, pages * page, MADV_NOHUGEPAGE);
  auto* bytes = static_cast<volatile char*>(fresh);
  for (std::size_t i = 0; i < pages; ++i) bytes[i * page] = 1;
  ::munmap(fresh, pages * page);
}

[[gnu::noinline, gnu::section("touching")]] void TouchFor(std::uint64_t ns) {
  const std::uint64_t until_ns = ThreadCpuNs() + ns;
  while (ThreadCpuNs() < until_ns) TouchFreshPages(100);
}

// In each round: touches pages, spins, and says how many faults the kernel has counted for it. The
// first round is for what is new to the process itself.
Puppet::Body TouchAndSpin(std::uint64_t spin_ns) {
  return [spin_ns](const Puppet::Strings& strings) {
    while (true) {
      strings.Wait();
      const std::uint64_t before = FaultsOfThread();
      TouchFreshPages(kPages);
      Spin(spin_ns);
      strings.Say({FaultsOfThread() - before});
    }
  };
}

class PmuTest : public LiveTest {
 protected:
  static void SetUpTestSuite() {
    if (::geteuid() != 0) return;
    auto live = LiveSource::Start({.counters = SoftwareCounters()});
    ASSERT_TRUE(live) << live.error().message << "\n" << live.error().hint;
    live_ = *std::move(live);
  }

  static session::SessionSpec Counted(session::SessionSpec spec) {
    spec.counters = true;
    return spec;
  }

  struct Sums {
    profd_pmu_counts start{};
    profd_pmu_counts end{};
    bool known = false;

    [[nodiscard]] std::uint64_t Growth(profd_pmu_counter counter) const {
      return end.counts[counter] - start.counts[counter];
    }
    [[nodiscard]] std::uint64_t CountedNs() const { return end.counted_ns - start.counted_ns; }
  };
  // By the readings of a thread at both ends of the session, or at its own end.
  static Sums SumsOf(const Heard& heard, std::uint32_t tid) {
    Sums sums;
    bool begun = false;
    for (const wire::PmuEvent& event : heard.All<wire::PmuEvent>()) {
      if (event.header.thread.tid != tid || (event.header.sessions >> heard.start.session & 1) == 0)
        continue;
      if (!begun && event.epoch == heard.start.epoch) {
        sums.start = event.at_epoch;
        begun = true;
      }
      if (event.end || event.epoch == heard.end.epoch) {
        sums.end = event.end ? event.final : event.at_epoch;
        sums.known = true;
      }
    }
    return sums;
  }
};

TEST_F(PmuTest, TheSumOfAThreadIsWhatTheKernelCountsForIt) {
  Puppet puppet(TouchAndSpin(50 * kMs));
  puppet.AwaitState('S');
  puppet.Go();
  (void)puppet.Hear(1);
  puppet.AwaitState('S');
  const std::uint64_t before = FaultsOf(puppet.pid());
  const auto session = live_->Begin(Counted(SpecOf(puppet)));
  std::uint64_t said = 0;
  for (int round = 0; round < 3; ++round) {
    puppet.Go();
    said += puppet.Hear(1)[0];
    puppet.AwaitState('S');
  }
  const std::uint64_t faults = FaultsOf(puppet.pid()) - before;
  const Heard heard = live_->End(session);
  EXPECT_GE(said, 3 * kPages);
  EXPECT_GE(faults, said);
  EXPECT_EQ(heard.start.mode >> PROFD_SESSION_COUNTERS_SHIFT & PROFD_SESSION_COUNTERS_MASK, kAll);

  const Sums sums = SumsOf(heard, puppet.pid());
  ASSERT_TRUE(sums.known);
  EXPECT_EQ(sums.Growth(PROFD_PMU_CACHE_MISSES), faults);
  EXPECT_EQ(sums.Growth(PROFD_PMU_INSTRUCTIONS), faults);
  const auto start = heard.AtStart(puppet.pid());
  const auto end = heard.AtEnd(puppet.pid());
  ASSERT_TRUE(start && end);
  const profd_clock clock = Growth(start->at_epoch, end->at_epoch);
  const std::uint64_t ran_ns = clock.on_cpu_ns + StolenOf(clock);
  // All of the time on a CPU but what profd's programs take of it.
  EXPECT_LE(sums.CountedNs(), ran_ns);
  EXPECT_GT(sums.CountedNs(), ran_ns / 10 * 8);
  // The clock goes on between the two readings of an instant.
  EXPECT_NEAR(static_cast<double>(sums.Growth(PROFD_PMU_CYCLES)),
              static_cast<double>(sums.CountedNs()), static_cast<double>(sums.CountedNs()) / 20);
}

TEST_F(PmuTest, SamplesOfAFunctionHaveItsCounts) {
  // Long beside a period: a sample's counts are of up to one period before it.
  constexpr std::uint64_t kPhaseNs = 500 * kMs;
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    TouchFor(kPhaseNs);
    Spin(kPhaseNs);
    strings.Say({1});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(Counted(SpecOf(puppet)));
  puppet.Go();
  EXPECT_EQ(puppet.Hear(1)[0], 1u);
  puppet.AwaitState('S');
  const Heard heard = live_->End(session);
  const Sums sums = SumsOf(heard, puppet.pid());
  ASSERT_TRUE(sums.known);
  std::uint64_t counted_ns = 0;
  std::uint64_t faults = 0;
  std::uint64_t of_touching = 0;
  std::size_t touching = 0;
  const auto stacks = heard.Stacks(puppet.pid(), wire::SampleOrigin::kOnCpu);
  for (const wire::StackEvent& stack : stacks) {
    // The first sample of a thread that was on a CPU before has no reading before it.
    if (!stack.counts) continue;
    const bool touches = std::ranges::any_of(stack.user_frames, IsTouching);
    counted_ns += stack.counts->counted_ns;
    faults += stack.counts->counts[PROFD_PMU_CACHE_MISSES];
    // The kernel counts a fault twice, one after the other, and a sample may come between.
    EXPECT_LE(Distance(stack.counts->counts[PROFD_PMU_CACHE_MISSES],
                       stack.counts->counts[PROFD_PMU_INSTRUCTIONS]),
              1u);
    if (touches) of_touching += stack.counts->counts[PROFD_PMU_CACHE_MISSES];
    if (touches) ++touching;
  }
  EXPECT_GT(touching, 20u);
  EXPECT_GT(stacks.size() - touching, 20u);
  EXPECT_GT(of_touching, faults / 10 * 9);
  // What is counted between the last sample of a stay on a CPU and the end of the stay is no
  // sample's: the busier the host, the more.
  EXPECT_GT(faults, 0u);
  EXPECT_LE(faults, sums.Growth(PROFD_PMU_CACHE_MISSES));
  EXPECT_GT(counted_ns, 0u);
  EXPECT_LE(counted_ns, sums.CountedNs());
}

TEST_F(PmuTest, AThreadOfTheSessionIsCountedFromItsBirthToItsEnd) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    std::uint64_t tid = 0;
    std::uint64_t faults = 0;
    std::thread worker([&] {
      TouchFreshPages(kPages);
      tid = ThreadId();
      faults = FaultsOfThread();
    });
    worker.join();
    strings.Say({tid, faults});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(Counted(SpecOf(puppet)));
  puppet.Go();
  const auto said = puppet.Hear(2);
  puppet.AwaitState('S');
  const Heard heard = live_->End(session);
  const Sums sums = SumsOf(heard, static_cast<std::uint32_t>(said[0]));
  ASSERT_TRUE(sums.known);
  EXPECT_GE(sums.Growth(PROFD_PMU_CACHE_MISSES), kPages);
  // Some pages may be new to it before it is first seen on a CPU, and on its way out.
  EXPECT_NEAR(static_cast<double>(sums.Growth(PROFD_PMU_CACHE_MISSES)),
              static_cast<double>(said[1]), 20);
}

TEST_F(PmuTest, OnlyMembersOfSessionsWithCountersAreCounted) {
  Puppet counted(TouchAndSpin(20 * kMs));
  Puppet other(TouchAndSpin(20 * kMs));
  counted.AwaitState('S');
  other.AwaitState('S');
  const auto with = live_->Begin(Counted(SpecOf(counted)));
  const auto without = live_->Begin(SpecOf(other));
  counted.Go();
  other.Go();
  (void)counted.Hear(1);
  (void)other.Hear(1);
  const Heard heard_without = live_->End(without);
  const Heard heard_with = live_->End(with);
  EXPECT_TRUE(SumsOf(heard_with, counted.pid()).known);
  for (const wire::PmuEvent& event : heard_without.All<wire::PmuEvent>())
    EXPECT_EQ(event.header.sessions >> heard_without.start.session & 1, 0u);
  for (const auto& stack : heard_without.Stacks(other.pid(), wire::SampleOrigin::kOnCpu))
    EXPECT_FALSE(stack.counts);
  EXPECT_EQ(heard_without.start.mode & PROFD_SESSION_COUNTED, 0u);
}

TEST_F(PmuTest, ASecondSessionBeginsWithTheSumsOfThatMoment) {
  Puppet puppet(TouchAndSpin(20 * kMs));
  puppet.AwaitState('S');
  puppet.Go();
  (void)puppet.Hear(1);
  puppet.AwaitState('S');
  const std::uint64_t at_first = FaultsOf(puppet.pid());
  const auto first = live_->Begin(Counted(SpecOf(puppet)));
  puppet.Go();
  EXPECT_GE(puppet.Hear(1)[0], kPages);
  puppet.AwaitState('S');
  const std::uint64_t at_second = FaultsOf(puppet.pid());
  const auto second = live_->Begin(Counted(SpecOf(puppet)));
  puppet.Go();
  EXPECT_GE(puppet.Hear(1)[0], kPages);
  puppet.AwaitState('S');
  const std::uint64_t at_end = FaultsOf(puppet.pid());
  const Heard heard_first = live_->End(first);
  const Heard heard_second = live_->End(second);
  EXPECT_EQ(SumsOf(heard_first, puppet.pid()).Growth(PROFD_PMU_CACHE_MISSES), at_end - at_first);
  EXPECT_EQ(SumsOf(heard_second, puppet.pid()).Growth(PROFD_PMU_CACHE_MISSES), at_end - at_second);
}

TEST_F(PmuTest, InSnapshotModeItIsRefused) {
  session::SessionSpec spec = Counted(SpecOf("all"));
  spec.observed = true;
  const auto started = live_->source().StartSession(spec);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(started.error().message, "hardware counters are read by the hooks of a switch");
}

// The counters of this machine, whichever it has.
class HardwareTest : public LiveTest {};

TEST_F(HardwareTest, ASessionSaysWhichCountersCount) {
  Puppet puppet(TouchAndSpin(20 * kMs));
  puppet.AwaitState('S');
  session::SessionSpec spec = SpecOf(puppet);
  spec.counters = true;
  const auto session = live_->Begin(spec);
  puppet.Go();
  (void)puppet.Hear(1);
  const Heard heard = live_->End(session);
  EXPECT_NE(heard.start.mode & PROFD_SESSION_COUNTED, 0u);
  const std::uint32_t counted =
      heard.start.mode >> PROFD_SESSION_COUNTERS_SHIFT & PROFD_SESSION_COUNTERS_MASK;
  const std::string says = live_->source().Status().levels.counters;
  EXPECT_EQ(counted == 0, says.starts_with("no hardware counters: ")) << says;
  if (counted != 0) return;
  EXPECT_TRUE(heard.All<wire::PmuEvent>().empty());
  for (const auto& stack : heard.Stacks(puppet.pid(), wire::SampleOrigin::kOnCpu))
    EXPECT_FALSE(stack.counts);
}

}  // namespace
}  // namespace profd::source
