// Windows without gaps: sessions on the whole host, one rolled into the next.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <thread>

#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using RollTest = LiveTest;
using wire::ClockEvent;
using wire::SampleOrigin;

constexpr std::uint64_t kMs = 1'000'000;
constexpr int kWindows = 3;

// Readings as of one epoch, by thread.
std::map<std::pair<std::uint32_t, std::uint64_t>, const ClockEvent*> ReadingsAt(
    const std::vector<ClockEvent>& clocks, std::uint32_t session, std::uint64_t epoch) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, const ClockEvent*> readings;
  for (const ClockEvent& clock : clocks)
    if (!clock.end && clock.epoch == epoch && (clock.header.sessions >> session & 1) != 0)
      readings[{clock.header.thread.tid, clock.header.thread.start_ns}] = &clock;
  return readings;
}

bool SameClock(const profd_clock& a, const profd_clock& b) {
  using Words = std::array<std::uint64_t, sizeof(profd_clock) / sizeof(std::uint64_t)>;
  return std::bit_cast<Words>(a) == std::bit_cast<Words>(b);
}

class RolledWindows : public RollTest {
 protected:
  // Windows of `puppet`'s phases: one phase in each.
  void Run(const Puppet& puppet, const session::SessionSpec& spec) {
    sessions_.push_back(live_->Begin(spec));
    for (int window = 0; window < kWindows; ++window) {
      puppet.Go();
      cpu_ns_.push_back(puppet.Hear(1)[0]);
      puppet.AwaitState('S');
      if (window + 1 < kWindows) sessions_.push_back(live_->Roll(sessions_.back()));
    }
    for (int window = 0; window + 1 < kWindows; ++window)
      heard_.push_back(live_->Await(sessions_[static_cast<std::size_t>(window)]));
    heard_.push_back(live_->End(sessions_.back()));
  }

  std::vector<std::uint32_t> sessions_;
  std::vector<std::uint64_t> cpu_ns_;
  std::vector<Heard> heard_;
};

TEST_F(RolledWindows, AddUpExactly) {
  const Puppet puppet(SpinPhases({40 * kMs, 120 * kMs, 10 * kMs}));
  puppet.AwaitState('S');
  const auto longest = live_->Begin(SpecOf(puppet));
  Run(puppet, SpecOf("all +kernel"));
  const Heard whole = live_->End(longest);

  profd_clock sum{};
  std::uint64_t elapsed_ns = 0;
  for (std::size_t i = 0; i < heard_.size(); ++i) {
    const auto start = heard_[i].AtStart(puppet.pid());
    const auto end = heard_[i].AtEnd(puppet.pid());
    ASSERT_TRUE(start && end) << i;
    EXPECT_EQ(start->epoch_ns, heard_[i].start.epoch_ns);
    EXPECT_EQ(end->epoch_ns, heard_[i].end.epoch_ns);
    const profd_clock grown = Growth(start->at_epoch, end->at_epoch);
    EXPECT_EQ(SumOf(grown), heard_[i].ElapsedNs()) << "closes, window " << i;
    EXPECT_GE(grown.on_cpu_ns + 10 * kMs, cpu_ns_[i]) << "its phase is in its own window " << i;
    elapsed_ns += heard_[i].ElapsedNs();
    sum.on_cpu_ns += grown.on_cpu_ns;
    sum.blocked_ns[PROFD_INTERRUPTIBLE] += BlockedOf(grown);
    sum.runnable_ns[PROFD_AFTER_WAKEUP] += RunnableOf(grown);
  }
  EXPECT_EQ(elapsed_ns, heard_.back().end.epoch_ns - heard_.front().start.epoch_ns) << "no gap";
  // The long session was there at all of these instants: its readings of the first and the last.
  const auto clocks = whole.All<ClockEvent>();
  const auto first = ReadingsAt(clocks, longest, heard_.front().start.epoch);
  const auto last = ReadingsAt(clocks, longest, heard_.back().end.epoch);
  const auto is_it = [&](const auto& entry) { return entry.first.first == puppet.pid(); };
  const auto from = std::ranges::find_if(first, is_it);
  const auto to = std::ranges::find_if(last, is_it);
  ASSERT_TRUE(from != first.end() && to != last.end());
  const profd_clock all = Growth(from->second->at_epoch, to->second->at_epoch);
  EXPECT_EQ(sum.on_cpu_ns, all.on_cpu_ns);
  EXPECT_EQ(sum.blocked_ns[PROFD_INTERRUPTIBLE], BlockedOf(all));
  EXPECT_EQ(sum.runnable_ns[PROFD_AFTER_WAKEUP], RunnableOf(all));
}

TEST_F(RolledWindows, EveryThreadEndsWhereItBegins) {
  const Puppet puppet(SpinPhases({kMs, kMs, kMs}));
  puppet.AwaitState('S');
  Run(puppet, SpecOf("all +kernel"));
  for (std::size_t i = 0; i + 1 < heard_.size(); ++i) {
    const wire::SessionEvent& start = heard_[i + 1].start;
    EXPECT_EQ(heard_[i].end.epoch, start.epoch);
    EXPECT_EQ(heard_[i].end.epoch_ns, start.epoch_ns);
    EXPECT_EQ(start.header.sessions,
              std::uint64_t{1} << sessions_[i] | std::uint64_t{1} << sessions_[i + 1]);
    const auto before = heard_[i].All<ClockEvent>();
    const auto after = heard_[i + 1].All<ClockEvent>();
    const auto ends = ReadingsAt(before, sessions_[i], start.epoch);
    const auto begins = ReadingsAt(after, sessions_[i + 1], start.epoch);
    EXPECT_GT(ends.size(), 1u);
    EXPECT_EQ(ends.size(), begins.size());
    for (const auto& [thread, end] : ends) {
      const auto begin = begins.find(thread);
      ASSERT_NE(begin, begins.end()) << end->comm;
      EXPECT_TRUE(SameClock(end->at_epoch, begin->second->at_epoch)) << end->comm;
    }
  }
}

TEST_F(RolledWindows, AThreadThatStaysBlockedIsReportedOnce) {
  const Puppet sleeper([](const Puppet::Strings& strings) { strings.Wait(); });
  const Puppet puppet(SpinPhases({kMs, kMs, kMs}));
  sleeper.AwaitState('S');
  puppet.AwaitState('S');
  Run(puppet, SpecOf("all"));
  std::size_t snapshots = 0;
  for (const Heard& heard : heard_) {
    // Events of all windows stand in each of them: count those of its own.
    const auto stacks = heard.All<wire::StackEvent>();
    snapshots +=
        static_cast<std::size_t>(std::ranges::count_if(stacks, [&](const wire::StackEvent& stack) {
          return stack.origin == SampleOrigin::kSnapshot &&
                 stack.header.thread.tid == sleeper.pid() &&
                 (stack.header.sessions >> heard.end.session & 1) != 0;
        }));
    const auto processes = heard.All<wire::ProcessEvent>();
    const bool requested = std::ranges::any_of(processes, [&](const wire::ProcessEvent& process) {
      return process.header.process.pid == sleeper.pid();
    });
    EXPECT_EQ(requested, &heard == &heard_.front()) << "/proc is read at the first start only";
    // The puppet has run in each window, and is blocked again at the end of each.
    EXPECT_EQ(heard.Stacks(puppet.pid(), SampleOrigin::kSnapshot).size(), 1u);
  }
  EXPECT_EQ(snapshots, 1u);
}

TEST_F(RolledWindows, OnlyTheWholeHostIsRolled) {
  const Puppet puppet(SpinPhases({kMs}));
  const auto session = live_->Begin(SpecOf(puppet));
  const auto rolled = live_->source().RollSession(session);
  ASSERT_FALSE(rolled);
  EXPECT_EQ(rolled.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(live_->source().RollSession(PROFD_MAX_SESSIONS - 1).error().code, ErrorCode::kNotFound);
  const Heard heard = live_->End(session);
  EXPECT_TRUE(heard.AtEnd(puppet.pid())) << "it has run on";
}

}  // namespace
}  // namespace profd::source
