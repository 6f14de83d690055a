// What every run must pass whose program says on whom its threads waited.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/accuracy/truth_suite.h"
#include "tests/accuracy/whom_view.h"

namespace profd::accuracy {

// What the program knows of the waits of one thread in one function, and what the profile says.
struct Whom {
  const nlohmann::json* truth = nullptr;
  WhomView view;
  double blocked_least_ns = 0;
  double blocked_most_ns = 0;
  // Of the blocked time, that in which the waiter was being woken: it is of either side.
  double hand_over = 0;
  // Of the samples, how many end at a wake-up that was not seen, as process 1 ran then: at most,
  // each step of the longest path being one.
  double unseen = 0;
  // Of the blocked time, that of waits which are cut by the end of a window of the history, at
  // most.
  double cut = 0;
};

// Skips without root.
class WhomTest : public TruthTest {
 protected:
  // Makes run_ as TruthTest does. Runs in which the program itself is not sure
  // of much, as it had no CPU then, are made again.
  void CollectWhom(const std::vector<std::string>& arguments, int frequency_hz);
  // The same with any program that says what `truth` says.
  void CollectWhomOf(const std::vector<std::string>& command, int frequency_hz);
  // The waits of a thread in a function. All samples of the thread, too, add up to its clock.
  [[nodiscard]] Whom Of(const std::string& waiter, const std::string& function) const;

  using Key = std::function<std::string(const WhomView&, const WhomSample&)>;
  // Each part that the program knows of has its share, by the name that `key` gives to it, and
  // nearly all time is in these parts: but for the hand-over and what was not seen.
  void ExpectParts(const std::string& waiter, const std::string& function, const Key& key) const;
  void ExpectParts(const std::string& waiter, const std::string& function) const;
};

// The part of a path that says how it ends: the last thread on it, and the end.
[[nodiscard]] std::string LastOf(const WhomView& view, const WhomSample& sample);

// Where a path ends with what a thread runs, its stack has `function` in as much of the time as
// that thread spent in it of all its CPU time, both by its own clocks. One comparison.
void ExpectRuns(const TruthRun& run, const Whom& whom, const std::string& thread,
                const std::string& function);

}  // namespace profd::accuracy
