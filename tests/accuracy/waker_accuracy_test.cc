// On whom threads wait, by paths, against what the threads themselves know.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>

#include "tests/accuracy/whom_suite.h"
#include "tests/support/interpreters.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_folder.h"

namespace profd::accuracy {
namespace {

using WakerAccuracy = WhomTest;

TEST_F(WakerAccuracy, AChainOfThree) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"chain", "--ms", "6000"}, 997));
  ExpectParts("chain-a", "truth::AwaitB");
  const Whom whom = Of("chain-a", "truth::AwaitB");
  ExpectRuns(*run_, whom, "chain-b", "truth::ComputeB");
  ExpectRuns(*run_, whom, "chain-c", "truth::ComputeC");
  // Who ends a wait is one question, on whom it waits another one.
  for (const WhomSample& sample : whom.view.samples()) {
    const v1::PathNode& first = *sample.steps.front();
    if (first.thread() != 0) {
      EXPECT_EQ(whom.view.Name(first), "chain-b");
    }
  }
}

class TwoWakers : public WhomTest, public ::testing::WithParamInterface<int> {};

TEST_P(TwoWakers, ThreeAndSevenMillisecondsInTurn) {
  ASSERT_NO_FATAL_FAILURE(
      CollectWhom({"two-wakers", "--ms", GetParam() < 50 ? "20000" : "8000"}, GetParam()));
  ExpectParts("two-a", "truth::AwaitEither");
  // Each waker waits in a function of its own.
  const Whom whom = Of("two-a", "truth::AwaitEither");
  for (const WhomSample& sample : whom.view.samples()) {
    const v1::PathNode& first = *sample.steps.front();
    if (first.kind() != v1::PATH_WAITS || first.node() == 0) continue;
    const bool three = whom.view.Name(first) == "two-three";
    EXPECT_FALSE(whom.view.Has(first, three ? "truth::SleepSeven" : "truth::SleepThree"));
  }
}

// A sampling point in every 8.4 and every 33.6 ms, or more often.
INSTANTIATE_TEST_SUITE_P(Periods, TwoWakers, ::testing::Values(997, 100, 30),
                         [](const auto& hz) { return std::to_string(hz.param) + "Hz"; });

TEST_F(WakerAccuracy, AQueueForALockHeldForUnequalTimes) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"fair-queue", "--ms", "6000"}, 997));
  for (const char* waiter : {"fair-half", "fair-one", "fair-two", "fair-four"})
    ExpectParts(waiter, "truth::AwaitTurn", LastOf);
}

TEST_F(WakerAccuracy, AQueueForAMutexThatInheritsPriorities) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"pi-queue", "--ms", "6000"}, 997));
  for (const char* waiter : {"pi-half", "pi-one", "pi-two", "pi-four"})
    ExpectParts(waiter, "truth::AwaitPiTurn", LastOf);
}

class Servers : public WhomTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(Servers, AServerThatComputes) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({GetParam(), "--ms", "4000"}, 997));
  ExpectParts("client", "truth::AwaitAnswer");
  const Whom whom = Of("client", "truth::AwaitAnswer");
  ExpectRuns(*run_, whom, "server", "truth::ComputeAnswer");
  for (const WhomSample& sample : whom.view.samples())
    EXPECT_NE(sample.steps.back()->kind(), v1::PATH_NET);
}

INSTANTIATE_TEST_SUITE_P(Ways, Servers,
                         ::testing::Values("pipe-server", "unix-server", "tcp-server"),
                         [](const auto& way) {
                           std::string name = way.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(WakerAccuracy, TimersBesideSpinners) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"timers", "--ms", "4000"}, 997));
  for (const char* function : {"truth::SleepByTimer", "truth::PollTimer"}) {
    ExpectParts("timers", function);
    const Whom whom = Of("timers", function);
    for (const WhomSample& sample : whom.view.samples())
      for (const v1::PathNode* step : sample.steps) EXPECT_EQ(step->thread(), 0u);
  }
}

TEST_F(WakerAccuracy, ALongWaitForABusyWorker) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"many", "--ms", "6000"}, 499));
  ExpectParts("many-a", "truth::AwaitBusyWorker");
}

TEST_F(WakerAccuracy, AFutexInMemoryOfAnotherProcess) {
  // The session is on one process. Those that it waits for are followed, and are no part of it.
  test::TempFolder folder;
  const std::string file = folder.Path("shared");
  auto outside = testing::Subprocess::Start(
      {test::BinaryDirectory() + "/testprogs/truth", "outside", "--file", file});
  ASSERT_TRUE(outside.ok()) << outside.error().message;
  std::istringstream said(outside->ReadLine().value());
  std::map<std::string, std::uint32_t> pids;
  said >> pids["other-far"] >> pids["other-near"];
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"other-process", "--ms", "4000", "--file", file}, 997));
  const Whom whom = Of("other-waiter", "truth::AwaitOtherProcess");
  // Nothing is known of a thread before it has ended a wait that holds a sampling point. The first
  // waits are left out on both sides.
  for (const WhomSample& sample : whom.view.samples()) {
    EXPECT_NE(sample.steps.back()->kind(), v1::PATH_NOT_FOLLOWED);
    for (const v1::PathNode* step : sample.steps) {
      if (step->thread() == 0) continue;
      const auto& thread = run_->profile().path_threads(static_cast<int>(step->thread()) - 1);
      EXPECT_EQ(thread.pid(), pids[thread.comm()]) << thread.comm();
      if (step->kind() == v1::PATH_WAITS && thread.comm() == "other-far" && step->node() != 0 &&
          sample.steps.back()->kind() == v1::PATH_TIMER) {
        EXPECT_TRUE(whom.view.Has(*step, "truth::SleepFar"));
      }
    }
  }
  ExpectParts("other-waiter", "truth::AwaitOtherProcess");
  for (const v1::Thread& thread : run_->profile().threads())
    EXPECT_FALSE(thread.comm().starts_with("other-near") || thread.comm() == "other-far");
}

TEST_F(WakerAccuracy, WhoOfTwoWritersComesFirst) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"events", "--ms", "6000"}, 997));
  ExpectParts("events-poller", "truth::PollBoth");
}

TEST_F(WakerAccuracy, ADiskBesideASpinner) {
  // In the folder of the build: /tmp may be memory.
  const std::string file = test::BinaryDirectory() + "/waker_accuracy_file";
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"fsync", "--ms", "4000", "--file", file}, 997));
  std::filesystem::remove(file);
  const Whom whom = Of("syncs", "truth::SyncFile");
  // A file system in memory does not wait at all.
  if (whom.view.Whole().weights.EffectiveSamples() < 50)
    GTEST_SKIP() << "fsync hardly waits on the file system of the build";
  double disk_ns = 0;
  const v1::Samples& samples = run_->profile().samples();
  for (const WhomSample& sample : whom.view.samples()) {
    bool disk = sample.steps.back()->kind() == v1::PATH_DISK;
    for (const v1::PathNode* step : sample.steps) {
      const std::string name = whom.view.Name(*step);
      EXPECT_NE(name, "spins");
      disk |= name.starts_with("jbd2") || name.starts_with("kworker");
    }
    if (disk) disk_ns += static_cast<double>(samples.weight_ns(sample.index));
  }
  for (const auto& [path, part] : whom.view.ByText())
    std::cout << path << ": " << part.ns / whom.view.Whole().ns << "\n";
  EXPECT_GE(disk_ns / whom.view.Whole().ns, 0.95);
}

TEST_F(WakerAccuracy, AChildThatComputes) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"children", "--ms", "4000"}, 997));
  ExpectParts("parent", "truth::AwaitChild");
  const Whom whom = Of("parent", "truth::AwaitChild");
  for (const WhomSample& sample : whom.view.samples())
    if (sample.steps.front()->thread() != 0) {
      EXPECT_EQ(sample.steps.front()->how(), v1::HOW_EXIT);
    }
}

TEST_F(WakerAccuracy, SignalsOfAnotherThread) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"signals", "--ms", "4000"}, 997));
  ExpectParts("pauses", "truth::PauseForSignal");
  const Whom whom = Of("pauses", "truth::PauseForSignal");
  for (const WhomSample& sample : whom.view.samples())
    if (sample.steps.front()->thread() != 0) {
      EXPECT_EQ(sample.steps.front()->how(), v1::HOW_SIGNAL);
    }
}

TEST_F(WakerAccuracy, ThreeAreWokenForOneItem) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"broadcast", "--ms", "4000"}, 997));
  std::uint64_t waits = 0;
  std::uint64_t spurious = 0;
  std::int64_t in_vain = 0;
  std::int64_t all = 0;
  for (const char* consumer : {"consumer-0", "consumer-1", "consumer-2"}) {
    // However many of the wake-ups are for nothing: all of them are the producer's.
    ExpectParts(consumer, "truth::AwaitItem", [](const WhomView& view, const WhomSample& sample) {
      const bool producer = std::ranges::any_of(sample.steps, [&view](const v1::PathNode* step) {
        return view.Name(*step) == "producer";
      });
      return producer ? "producer" : view.Text(sample);
    });
    const Whom whom = Of(consumer, "truth::AwaitItem");
    in_vain += whom.truth->at("in_vain").get<std::int64_t>();
    all += whom.truth->at("waits").get<std::int64_t>();
    for (const v1::WakeUps& ups : run_->profile().wake_ups()) {
      const auto& thread = run_->profile().threads(static_cast<int>(ups.thread()));
      if (thread.tid() != run_->Truth(consumer).at("tid").get<std::uint32_t>()) continue;
      if (run_->profile().path_threads(static_cast<int>(ups.waker())).comm() != "producer")
        continue;
      waits += ups.waits();
      spurious += ups.spurious();
    }
  }
  std::cout << spurious << " of " << waits << " sampled wake-ups are spurious, of all " << in_vain
            << " of " << all << "\n";
  // Nothing but a wake-up in vain counts as one.
  const double share = static_cast<double>(in_vain) / static_cast<double>(all);
  ExpectShareWithin(static_cast<double>(spurious) / static_cast<double>(waits), 0, share,
                    static_cast<double>(waits), "spurious wake-ups");
}

class GilAccuracy : public WhomTest, public ::testing::WithParamInterface<int> {};

TEST_P(GilAccuracy, ThreadsThatTakeTurnsWithTheGil) {
  const auto interpreters = test::FindInterpreters(GetParam());
  if (interpreters.empty()) GTEST_SKIP() << "no CPython 3." << GetParam() << " here";
  ASSERT_NO_FATAL_FAILURE(CollectWhomOf(
      {interpreters.front(), test::SourceDirectory() + "/tests/accuracy/gil_turns.py", "5"}, 499));
  for (const char* waiter : {"gil-py-one", "gil-py-two", "gil-c"}) {
    ExpectParts(waiter, "");
    const Whom whom = Of(waiter, "");
    for (const WhomSample& sample : whom.view.samples())
      EXPECT_NE(sample.steps.back()->kind(), v1::PATH_TIMER);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, GilAccuracy, ::testing::Values(11, 13), [](const auto& minor) {
  return "CPython3_" + std::to_string(minor.param);
});

TEST_F(WakerAccuracy, OneWhoComesLate) {
  // The late one takes the lock when A has waited 4 ms for the first one, whose wake-up gives A
  // nothing. If A waits on at once, the two waits are one, and who ended it was waited for all the
  // time: that is what the rule assumes. Else the first part is the first one's. Either way it is
  // of one of the two, and what the late one did with the lock is right.
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"late", "--ms", "4000"}, 997));
  const Whom whom = Of("late-a", "truth::AwaitLateLock");
  const auto part = whom.truth->at("has_lock");
  const double samples = whom.view.Whole().weights.EffectiveSamples();
  const auto by_thread = whom.view.By([&](const WhomSample& sample) {
    const std::string name = whom.view.Name(*sample.steps.front());
    return name.empty() ? whom.view.Text(sample) : name;
  });
  for (const auto& [path, its] : whom.view.ByText())
    std::cout << path << ": " << its.ns / whom.view.Whole().ns << "\n";
  double others = 0;
  for (const auto& [name, its] : by_thread)
    if (name != "late-late" && name != "late-first") others += its.ns / whom.view.Whole().ns;
  ExpectShareWithin(others, 0, whom.hand_over, samples, "neither of the two");
  // Before it had the lock it may have run, too.
  const auto by_path = whom.view.ByText();
  const auto runs = by_path.find("late-late runs");
  ExpectShareWithin(runs == by_path.end() ? 0 : runs->second.ns / whom.view.Whole().ns,
                    part.at("least_ns").get<double>() / whom.blocked_most_ns,
                    std::min(1.0, part.at("most_ns").get<double>() / whom.blocked_least_ns),
                    samples, "the late one has the lock");
}

TEST_F(WakerAccuracy, WakersThatDie) {
  // Two of three have the number that the one before had, too; the third is the first process of
  // a pid namespace of its own.
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"deaths", "--ms", "4000"}, 997));
  const Whom whom = Of("mourner", "truth::AwaitDying");
  EXPECT_TRUE(whom.truth->at("numbers_used_again").get<bool>());
  const v1::Samples& samples = run_->profile().samples();
  double other_ns = 0;
  double hand_over_ns = 0;
  double blocked_ns = 0;
  for (const auto& turn : whom.truth->at("turns")) {
    hand_over_ns +=
        std::max(0.0, turn.at("end_ns").get<double>() - turn.at("giving_ns").get<double>());
    blocked_ns += turn.at("end_ns").get<double>() - turn.at("begin_ns").get<double>();
  }
  for (const WhomSample& sample : whom.view.samples()) {
    const auto& turns = whom.truth->at("turns");
    const auto time_ns = samples.time_ns(sample.index);
    const auto turn = std::ranges::find_if(turns, [time_ns](const auto& one) {
      return one.at("begin_ns").template get<std::uint64_t>() <= time_ns &&
             time_ns <= one.at("end_ns").template get<std::uint64_t>();
    });
    ASSERT_NE(turn, turns.end()) << time_ns;
    const v1::PathNode& first = *sample.steps.front();
    if (first.thread() != 0) {
      const auto& thread = run_->profile().path_threads(static_cast<int>(first.thread()) - 1);
      EXPECT_EQ(thread.comm(), turn->at("name").get<std::string>());
      EXPECT_EQ(thread.tid(), turn->at("pid").get<std::uint32_t>());
    }
    if (first.kind() != v1::PATH_RUNS && first.kind() != v1::PATH_NO_CPU)
      other_ns += static_cast<double>(samples.weight_ns(sample.index));
  }
  ExpectShareWithin(other_ns / whom.view.Whole().ns, 0, hand_over_ns / blocked_ns,
                    whom.view.Whole().weights.EffectiveSamples(), "no dying one");
}

TEST_F(WakerAccuracy, AStormOfWakeUps) {
  ASSERT_NO_FATAL_FAILURE(CollectWhom({"storm", "--ms", "3000"}, 997));
  double unknown_ns = 0;
  double all_ns = 0;
  std::map<std::string, double> ends;
  for (const auto& truth : run_->truth().at("threads")) {
    const std::uint32_t tid = truth.at("tid");
    const WhomView view(run_->profile(), tid, "");
    const auto clock_ns =
        static_cast<double>(BlockedNs(run_->Thread(tid).value().thread().clock()));
    EXPECT_NEAR(view.Whole().ns, clock_ns, 0.001 * clock_ns);
    for (const auto& [path, part] : view.ByText()) {
      all_ns += part.ns;
      const std::size_t unknown = path.find('?');
      if (unknown == std::string::npos) continue;
      unknown_ns += part.ns;
      ends[path.substr(unknown)] += part.ns;
    }
  }
  for (const auto& [end, ns] : ends) std::cout << end << ": " << ns / all_ns << "\n";
  RecordProperty("unknown", std::to_string(unknown_ns / all_ns));
}

TEST_F(WakerAccuracy, NoBiasInTwentyRuns) {
  // The mean error of so many runs has a standard deviation of that of one run by their square
  // root. What the program itself is not sure of is of no side.
  constexpr int kRuns = 20;
  std::map<std::string, double> errors;
  std::map<std::string, double> variances;
  for (int i = 0; i < kRuns; ++i) {
    ASSERT_NO_FATAL_FAILURE(CollectWhom({"chain", "--ms", "1500"}, 997));
    const Whom whom = Of("chain-a", "truth::AwaitB");
    const WhomView::Part whole = whom.view.Whole();
    const auto parts = whom.view.ByText();
    for (const auto& [path, part] : whom.truth->at("paths").items()) {
      const auto found = parts.find(path);
      const double measured = found == parts.end() ? 0 : found->second.ns / whole.ns;
      const double nearest = std::clamp(
          measured, part.at("least_ns").get<double>() / whom.blocked_most_ns * (1 - whom.unseen),
          part.at("most_ns").get<double>() / whom.blocked_least_ns);
      errors[path] += measured - nearest;
      variances[path] += nearest * (1 - nearest) / whole.weights.EffectiveSamples();
    }
  }
  for (const auto& [path, error] : errors) {
    std::cout << path << ": " << error / kRuns << " +- " << std::sqrt(variances[path]) / kRuns
              << "\n";
    EXPECT_LE(std::abs(error), 3 * std::sqrt(variances[path])) << path;
  }
}

}  // namespace
}  // namespace profd::accuracy
