// A training loop that knows its steps: as many as its argument says, else until a line comes on
// its standard input.
//
// Writes "ready" at its begin, and at the end one line of JSON: for each step the time before and
// after each call that profd may see: begin and end of the wait for data, begin and end of the
// optimizer, work_step; in ns of CLOCK_MONOTONIC.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "tests/testprogs/steps/record_function.h"
#include "tests/testprogs/steps/reported_times.h"

namespace {

using profd::steps::HasLine;
using profd::steps::Now;
using profd::steps::Report;
using profd::steps::Sleep;
using profd::steps::Timed;
using torch::autograd::profiler::record_function_enter_new;

constexpr std::uint64_t kMs = 1'000'000;
// Of these steps the first computes for long, and the second waits for its data for long.
constexpr std::size_t kSlow = 100;
constexpr std::size_t kStarved = 108;

__attribute__((noinline)) void Spin(std::uint64_t ns) {
  const std::uint64_t end = Now(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (Now(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

__attribute__((noinline)) void WaitForData(std::uint64_t ns) { Sleep(ns); }

__attribute__((noinline)) void Compute(std::uint64_t ns) { Spin(ns); }
__attribute__((noinline)) void Update(std::uint64_t ns) { Spin(ns); }

using Times = std::array<std::uint64_t, 10>;

Times Step(std::size_t number) {
  Times times{};
  profd::steps::Record record;
  const std::string data = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  Timed(times, 0, [&] { record = record_function_enter_new(data); });
  WaitForData((number == kStarved ? 60 : 3) * kMs);
  Timed(times, 1, [&] { profd::steps::Leave(record); });
  Compute((number == kSlow ? 60 : 8) * kMs);
  Timed(times, 2, [&] { record = record_function_enter_new("Optimizer.step#Truth.step"); });
  Update(4 * kMs);
  Timed(times, 3, [&] { profd::steps::Leave(record); });
  Timed(times, 4, [] { work_step(); });
  pass_static_probe();
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  std::puts("ready");
  std::fflush(stdout);
  std::vector<Times> steps;
  while (count == 0 ? !HasLine() : steps.size() < count) steps.push_back(Step(steps.size()));
  Report(steps);
  return 0;
}
