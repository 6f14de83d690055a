// What every case of the suite asks of a run.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/accuracy/truth_run.h"

namespace profd::accuracy {

// Skips without root. One run a case.
class TruthTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // Makes run_: `PROGRAM ARGUMENTS` from its first instruction to its end. What must hold of every
  // run (accounting, sums, lives) is checked. Call it inside ASSERT_NO_FATAL_FAILURE.
  // `frequency_hz` is that of samples on the CPU and of sampling points off it. Where the host
  // takes too much of the CPUs for any run to be judged, the case ends here, skipped.
  void Collect(const std::vector<std::string>& arguments, int frequency_hz,
               const std::string& program = "truth");
  // The same in snapshot mode.
  void Observe(const std::vector<std::string>& arguments, int frequency_hz,
               const std::string& program = "truth");

  // Whether so much of the CPUs was stolen during run_ that it cannot be judged. The second time in
  // a case, it ends the case, skipped.
  [[nodiscard]] bool IsStolen();

  std::optional<TruthRun> run_;

 private:
  void CollectWith(const std::vector<std::string>& options,
                   const std::vector<std::string>& arguments, const std::string& program);

  int stolen_runs_ = 0;
};

// Parameter: the program, compiled with frame pointers or without.
class BuildTest : public TruthTest, public ::testing::WithParamInterface<const char*> {};
#define PROFD_EACH_BUILD(suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(Builds, suite, ::testing::Values("truth", "truth_no_fp"), \
                           [](const auto& build) { return std::string(build.param); })

// The parts of every thread add up to its life within 0.1 %, and those of all threads together.
void ExpectSums(const TruthRun& run);

// Every thread of the profile is one that the program knows of, and begins and ends when the
// program's own readings of the time say.
void ExpectLives(const TruthRun& run);

// The share of a thread's time on or off the CPU that has `function` on its stack is what the
// program measured, within what chance explains for the samples it rests on. One comparison.
void ExpectShare(const TruthRun& run, const std::string& thread, const std::string& function,
                 Side side);
// The same for all threads that the program reported, together.
void ExpectShareOfAll(const TruthRun& run, const std::string& function, Side side);
// A share whose truth lies between `least` and `most` is within what chance explains for so many
// samples. One comparison.
void ExpectShareWithin(double measured, double least, double most, double samples,
                       const std::string& what);
// All of the blocked time of a thread is spent in `function`, but for what it was blocked outside
// of `loop`, which the program timed. One comparison.
void ExpectBlockedIn(const TruthRun& run, const std::string& thread, const std::string& function,
                     const std::string& loop);

}  // namespace profd::accuracy
