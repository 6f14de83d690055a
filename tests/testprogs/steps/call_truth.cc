// Calls that have a name, which end by their objects and do not nest, until a line comes on its
// standard input.
//
// Writes "ready" at its begin, and at the end one line of JSON: for each round the times before and
// after each border of the calls "outer", "late" and one with a long name: outer begins, late
// begins, outer ends, late ends, the long name begins and ends; in ns of CLOCK_MONOTONIC.
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/testprogs/steps/record_event.h"
#include "tests/testprogs/steps/reported_times.h"

namespace {

using profd::steps::HasLine;
using profd::steps::Report;
using profd::steps::Sleep;

constexpr std::uint64_t kMs = 1'000'000;

using Times = std::array<std::uint64_t, 12>;

Times Round() {
  Times times{};
  std::size_t at = 0;
  const auto timed = [&](const auto& call) { profd::steps::Timed(times, at++, call); };
  const std::string late_name = "late";
  const std::string operator_name(70, 'o');
  std::unique_ptr<phi::RecordEvent> outer;
  std::unique_ptr<phi::RecordEvent> late;
  std::unique_ptr<phi::RecordEvent> inner;
  timed([&] { outer = std::make_unique<phi::RecordEvent>("outer"); });
  Sleep(2 * kMs);
  timed([&] { late = std::make_unique<phi::RecordEvent>(late_name); });
  Sleep(3 * kMs);
  timed([&] { outer->End(); });
  outer.reset();  // ends it once more
  Sleep(1 * kMs);
  timed([&] { late.reset(); });
  timed([&] { inner = std::make_unique<phi::RecordEvent>(operator_name.c_str()); });
  Sleep(1 * kMs);
  timed([&] { inner.reset(); });
  return times;
}

}  // namespace

int main() {
  std::puts("ready");
  std::fflush(stdout);
  std::vector<Times> rounds;
  while (!HasLine()) rounds.push_back(Round());
  Report(rounds);
  return 0;
}
