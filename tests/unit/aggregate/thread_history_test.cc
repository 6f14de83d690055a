#include "daemon/aggregate/thread_history.h"

#include <gtest/gtest.h>

#include "daemon/aggregate/profile.h"

namespace profd::aggregate {
namespace {

constexpr ThreadKey kThread{11, 500};
constexpr ProcessKey kProcess{10, 400};
constexpr Instant kStart{3, 1000};
constexpr Instant kEnd{5, 2000};

profd_clock Totals(std::uint64_t on_cpu, std::uint64_t runnable, std::uint64_t blocked) {
  profd_clock clock{};
  clock.on_cpu_ns = on_cpu;
  clock.runnable_ns[PROFD_AFTER_PREEMPTION] = runnable;
  clock.blocked_ns[PROFD_INTERRUPTIBLE] = blocked;
  return clock;
}

wire::ClockEvent Clock(std::uint64_t epoch, std::uint64_t epoch_ns, const profd_clock& totals) {
  wire::ClockEvent event;
  event.header.time_ns = epoch_ns + 50;
  event.epoch = epoch;
  event.epoch_ns = epoch_ns;
  event.begin_ns = 100;
  event.state = PROFD_STATE_ON_CPU;
  event.at_epoch = event.final = totals;
  event.comm = "worker";
  return event;
}

wire::ClockEvent End(std::uint64_t time_ns, std::uint64_t epoch, const profd_clock& at_epoch,
                     const profd_clock& final) {
  wire::ClockEvent event;
  event.header.time_ns = time_ns;
  event.end = true;
  event.epoch = epoch;
  event.epoch_ns = epoch == kStart.epoch ? kStart.time_ns : kEnd.time_ns;
  event.begin_ns = 100;
  event.state = PROFD_STATE_DEAD;
  event.at_epoch = at_epoch;
  event.final = final;
  return event;
}

wire::ForkEvent Fork(std::uint64_t time_ns) {
  wire::ForkEvent event;
  event.header.time_ns = time_ns;
  event.comm = "child";
  return event;
}

double ClosureOf(const Lifetime& life) {
  ProfileThread thread;
  thread.begin_ns = life.window.begin_ns;
  thread.end_ns = life.window.end_ns;
  thread.clock = life.clock;
  return ClosureError(thread);
}

ThreadHistory History() { return ThreadHistory(kThread, kProcess); }

TEST(ThreadHistory, LivesThroughTheSession) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(10, 20, 30)));
  history.OnClock(Clock(5, 2000, Totals(410, 120, 530)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_FALSE(life.clock_missing);
  EXPECT_EQ(life.window, (Window{1000, 2000}));
  EXPECT_EQ(life.clock.on_cpu_ns, 400u);
  EXPECT_EQ(life.clock.runnable_ns[PROFD_AFTER_PREEMPTION], 100u);
  EXPECT_EQ(life.clock.blocked_ns[PROFD_INTERRUPTIBLE], 500u);
  EXPECT_FALSE(life.began);
  EXPECT_FALSE(life.exited);
  EXPECT_EQ(history.comm(), "worker");
}

wire::ClockEvent WithMoves(wire::ClockEvent event, profd_moves moves) {
  event.moves = wire::ClockMoves{moves, moves};
  return event;
}

TEST(ThreadHistory, MigrationsByDistanceAreThoseOfTheSession) {
  auto history = History();
  history.OnClock(WithMoves(Clock(3, 1000, Totals(10, 20, 30)), {UINT32_MAX, 7, 1}));
  history.OnClock(WithMoves(Clock(5, 2000, Totals(410, 120, 530)), {2, 9, 1}));
  // Counts go on modulo 2^32.
  EXPECT_EQ(history.Resolve(kStart, kEnd).migrations, (Migrations{3, 2, 0}));
}

TEST(ThreadHistory, MigrationsByDistanceOfAThreadThatBeginsAndEnds) {
  auto history = History();
  history.OnFork(Fork(1200));
  history.OnClock(WithMoves(End(1500, 0, {}, Totals(100, 0, 200)), {3, 2, 1}));
  EXPECT_EQ(history.Resolve(kStart, kEnd).migrations, (Migrations{3, 2, 1}));
}

TEST(ThreadHistory, WithoutBothReadingsNoDistancesAreKnown) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(10, 20, 30)));
  history.OnClock(WithMoves(Clock(5, 2000, Totals(410, 120, 530)), {2, 9, 1}));
  EXPECT_FALSE(history.Resolve(kStart, kEnd).migrations);
}

profd_clock WithStolen(profd_clock clock, std::uint64_t exact_ns, std::uint64_t spread_ns = 0) {
  clock.stolen_ns[PROFD_STOLEN_EXACT] = exact_ns;
  clock.stolen_ns[PROFD_STOLEN_SPREAD] = spread_ns;
  return clock;
}

TEST(ThreadHistory, StolenTimeAddsUpWithTheStates) {
  auto history = History();
  history.OnClock(Clock(3, 1000, WithStolen(Totals(10, 20, 30), 5, 7)));
  history.OnClock(Clock(5, 2000, WithStolen(Totals(310, 120, 530), 65, 47)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_FALSE(life.clock_missing);
  EXPECT_EQ(life.clock.on_cpu_ns, 300u);
  EXPECT_EQ(life.clock.stolen_ns[PROFD_STOLEN_EXACT], 60u);
  EXPECT_EQ(life.clock.stolen_ns[PROFD_STOLEN_SPREAD], 40u);
  EXPECT_EQ(ClosureOf(life), 0);
}

// The first reading has taken 200 ns for run time that were stolen, as it could not know better; or
// for stolen what was not. Only the sum of both is sure to grow.
TEST(ThreadHistory, AReadingMayNotKnowYetWhatWasStolen) {
  for (const bool taken_for_run : {true, false}) {
    const auto early =
        taken_for_run ? WithStolen(Totals(210, 0, 0), 0) : WithStolen(Totals(10, 0, 0), 200);
    const auto late =
        taken_for_run ? WithStolen(Totals(100, 0, 0), 1110) : WithStolen(Totals(1110, 0, 0), 100);
    auto history = History();
    history.OnClock(Clock(3, 1000, early));
    history.OnClock(Clock(5, 2000, late));
    const auto life = history.Resolve(kStart, kEnd);
    EXPECT_FALSE(life.clock_missing);
    EXPECT_EQ(life.clock.on_cpu_ns, taken_for_run ? 0u : 1000u);
    EXPECT_EQ(life.clock.stolen_ns[PROFD_STOLEN_EXACT], taken_for_run ? 1000u : 0u);
    EXPECT_EQ(ClosureOf(life), 0);
  }
}

TEST(ThreadHistory, BeginsWithItsFork) {
  auto history = History();
  history.OnFork(Fork(1300));
  auto clock = Clock(5, 2000, Totals(200, 0, 500));
  clock.begin_ns = 1302;  // the clock's own idea of it
  history.OnClock(clock);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_TRUE(life.began);
  EXPECT_EQ(life.window, (Window{1300, 2000}));
  EXPECT_EQ(ClockTotal(life.clock), 700u);
}

TEST(ThreadHistory, BeginsWithItsClockWhenTheForkWasLost) {
  auto history = History();
  auto end = End(1500, 0, {}, Totals(100, 0, 98));
  end.begin_ns = 1302;
  history.OnClock(end);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_TRUE(life.began);
  EXPECT_TRUE(life.exited);
  EXPECT_EQ(life.window, (Window{1302, 1500}));
  EXPECT_EQ(ClockTotal(life.clock), 198u);
}

TEST(ThreadHistory, EndsInsideWithFinalTotals) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(10, 20, 30)));
  wire::ExitEvent exit;
  exit.header.time_ns = 1790;
  history.OnExit(exit);
  EXPECT_TRUE(history.alive());
  history.OnClock(End(1800, 3, Totals(10, 20, 30), Totals(410, 20, 430)));
  EXPECT_FALSE(history.alive());
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_TRUE(life.exited);
  EXPECT_EQ(life.window, (Window{1000, 1800}));
  EXPECT_EQ(ClockTotal(life.clock), 800u);
}

TEST(ThreadHistory, EndsNoSoonerThanItsExitWasSeen) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(0, 0, 0)));
  wire::ExitEvent exit;
  exit.header.time_ns = 1800;
  history.OnExit(exit);
  history.OnClock(End(1600, 3, Totals(0, 0, 0), Totals(600, 0, 0)));  // its clock stood still
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_EQ(life.window, (Window{1000, 1800}));
  EXPECT_DOUBLE_EQ(ClosureOf(life), -0.25);
}

TEST(ThreadHistory, EndBeforeItWasReadStillKnowsItsStart) {
  auto history = History();
  history.OnClock(End(1800, 3, Totals(10, 20, 30), Totals(410, 20, 430)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_FALSE(life.clock_missing);
  EXPECT_EQ(ClockTotal(life.clock), 800u);
}

TEST(ThreadHistory, EndAfterTheSessionIsReadAsOfTheSessionsEnd) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(0, 0, 0)));
  history.OnClock(End(2100, 5, Totals(1000, 0, 0), Totals(1100, 0, 0)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_FALSE(life.exited);
  EXPECT_EQ(life.window, (Window{1000, 2000}));
  EXPECT_EQ(ClockTotal(life.clock), 1000u);
  EXPECT_FALSE(life.blocked_since_ns.has_value());
}

TEST(ThreadHistory, ReadingsOfOtherSessionsDoNotCount) {
  auto history = History();
  history.OnClock(Clock(1, 400, Totals(1, 0, 0)));
  history.OnClock(Clock(3, 1000, Totals(100, 0, 0)));
  history.OnClock(Clock(4, 1500, Totals(600, 0, 0)));
  history.OnClock(Clock(5, 2000, Totals(1100, 0, 0)));
  history.OnClock(Clock(6, 2300, Totals(1400, 0, 0)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_EQ(life.window, (Window{1000, 2000}));
  EXPECT_EQ(ClockTotal(life.clock), 1000u);
}

TEST(ThreadHistory, OneThatWasNotReadAtTheEndLacksTimeInItsClock) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(100, 0, 0)));
  auto last = Clock(4, 1900, Totals(100, 0, 900));
  last.state = PROFD_STATE_BLOCKED;
  last.since_ns = 1000;
  history.OnClock(last);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_FALSE(life.clock_missing);
  EXPECT_EQ(life.window, (Window{1000, 2000}));
  EXPECT_DOUBLE_EQ(ClosureOf(life), -0.1);
  EXPECT_FALSE(life.blocked_since_ns) << "whether it still waits at the end is not known";
}

TEST(ThreadHistory, OneThatBeganAndWasNotReadAtTheEndLacksTimeInItsClock) {
  auto history = History();
  history.OnFork(Fork(1200));
  auto last = Clock(4, 1600, Totals(400, 0, 0));
  last.begin_ns = 1200;
  history.OnClock(last);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_EQ(life.window, (Window{1200, 2000}));
  EXPECT_DOUBLE_EQ(ClosureOf(life), -0.5);
}

TEST(ThreadHistory, ManyReadingsKeepTheFirstAndTheLast) {
  auto history = History();
  for (std::uint64_t epoch = 3; epoch < 100; ++epoch)
    history.OnClock(Clock(epoch, 1000 + (epoch - 3) * 10, Totals((epoch - 3) * 10, 0, 0)));
  const auto life = history.Resolve(kStart, {98, 1950});
  EXPECT_EQ(life.window, (Window{1000, 1950}));
  EXPECT_EQ(ClockTotal(life.clock), 950u);
}

TEST(ThreadHistory, OneThatJoinsLaterIsObservedFromItsFirstReading) {
  auto history = History();
  history.OnClock(Clock(4, 1500, Totals(600, 0, 0)));
  history.OnClock(Clock(5, 2000, Totals(1100, 0, 0)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_EQ(life.window, (Window{1500, 2000}));
  EXPECT_EQ(ClockTotal(life.clock), 500u);
  EXPECT_FALSE(life.began);
}

TEST(ThreadHistory, OneThatIsBornAndJoinsLaterCountsFromTheJoining) {
  auto history = History();
  auto joining = Clock(3, 1500, Totals(200, 0, 100));  // under the number of the start's epoch
  joining.begin_ns = 1200;
  history.OnClock(joining);
  auto last = Clock(5, 2000, Totals(700, 0, 100));
  last.begin_ns = 1200;
  history.OnClock(last);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_EQ(life.window, (Window{1500, 2000}));
  EXPECT_EQ(ClockTotal(life.clock), 500u);
  EXPECT_FALSE(life.began);
}

TEST(ThreadHistory, OneThatLeavesTheSessionHasNotExited) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(0, 0, 0)));
  auto leaving = End(1600, 3, Totals(0, 0, 0), Totals(600, 0, 0));
  leaving.state = PROFD_STATE_ON_CPU;
  history.OnClock(leaving);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_EQ(life.window, (Window{1000, 1600}));
  EXPECT_EQ(ClockTotal(life.clock), 600u);
  EXPECT_FALSE(life.exited);
  EXPECT_FALSE(history.alive());
  EXPECT_TRUE(history.RejoinsWith(Clock(3, 1700, Totals(700, 0, 0))));
  EXPECT_FALSE(history.RejoinsWith(Clock(3, 1000, Totals(0, 0, 0))));  // came late
}

TEST(ThreadHistory, KnowsThatItIsStillBlocked) {
  auto history = History();
  history.OnClock(Clock(3, 1000, {}));
  auto clock = Clock(5, 2000, Totals(0, 0, 1000));
  clock.state = PROFD_STATE_BLOCKED;
  clock.since_ns = 700;
  history.OnClock(clock);
  EXPECT_EQ(history.Resolve(kStart, kEnd).blocked_since_ns, 700u);
}

TEST(ThreadHistory, AnObservedClockDoesNotSaySinceWhenItIsBlocked) {
  auto history = History();
  history.OnClock(Clock(3, 1000, {}));
  auto clock = Clock(5, 2000, Totals(0, 0, 1000));
  clock.state = PROFD_STATE_BLOCKED;
  clock.observation = wire::Observation{};
  history.OnClock(clock);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_FALSE(life.blocked_since_ns);
  EXPECT_EQ(ClockTotal(life.clock), 1000u);
}

TEST(ThreadHistory, HasNoClockWithoutASecondReading) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(1, 2, 3)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_TRUE(life.clock_missing);
  EXPECT_EQ(life.window, (Window{1000, 2000}));
  EXPECT_TRUE(History().Resolve(kStart, kEnd).clock_missing);
}

TEST(ThreadHistory, OneWhoseFirstReadingWasLostIsThereWithoutAClock) {
  auto history = History();
  history.OnClock(Clock(5, 2000, Totals(500, 0, 500)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_TRUE(life.clock_missing);
  EXPECT_FALSE(life.began);
  EXPECT_EQ(life.window, (Window{1000, 2000}));
}

TEST(ThreadHistory, OneThatJoinsAfterTheEndHasNoTime) {
  auto history = History();
  history.OnClock(Clock(5, 2010, Totals(500, 0, 500)));
  EXPECT_EQ(history.Resolve(kStart, kEnd).window.Length(), 0u);
}

TEST(ThreadHistory, HasNoClockWhenItWentBack) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(100, 0, 0)));
  history.OnClock(Clock(5, 2000, Totals(50, 0, 1050)));
  EXPECT_TRUE(history.Resolve(kStart, kEnd).clock_missing);
}

TEST(ThreadHistory, ExitWithoutTotalsEndsTheWindow) {
  auto history = History();
  history.OnClock(Clock(3, 1000, Totals(100, 0, 0)));
  wire::ExitEvent exit;
  exit.header.time_ns = 1200;
  history.OnExit(exit);
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_TRUE(life.exited);
  EXPECT_TRUE(life.clock_missing);
  EXPECT_EQ(life.window, (Window{1000, 1200}));
}

TEST(ThreadHistory, OneThatIsStillExitingAtTheEndIsThereUntilThen) {
  auto history = History();
  history.OnFork(Fork(1300));
  wire::ExitEvent exit;
  exit.header.time_ns = 1900;
  history.OnExit(exit);
  history.OnClock(Clock(5, 2000, Totals(600, 100, 0)));
  const auto life = history.Resolve(kStart, kEnd);
  EXPECT_FALSE(life.exited);
  EXPECT_EQ(life.window, (Window{1300, 2000}));
  EXPECT_EQ(ClockTotal(life.clock), 700u);
  EXPECT_FALSE(life.clock_missing);
}

TEST(ThreadHistory, OneForkedAfterTheEndHasNoTime) {
  auto history = History();
  history.OnFork(Fork(2050));
  EXPECT_EQ(history.Resolve(kStart, kEnd).window.Length(), 0u);
}

}  // namespace
}  // namespace profd::aggregate
