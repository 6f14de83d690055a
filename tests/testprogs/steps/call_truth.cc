// Calls that have a name, which end by their objects and do not nest, until a line comes on its
// standard input.
//
// Writes "ready" at its begin, and at the end one line of JSON: for each round the times before and
// after each of begin and end of "outer", of "late" and of "operator": outer begins, late begins,
// outer ends, late ends, operator begins and ends; in ns of CLOCK_MONOTONIC.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "tests/testprogs/steps/record_event.h"

namespace {

std::uint64_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void Sleep(long ms) {
  const timespec length{0, ms * 1'000'000};
  ::nanosleep(&length, nullptr);
}

using Times = std::array<std::uint64_t, 12>;

Times Round() {
  Times times{};
  std::size_t at = 0;
  const auto timed = [&](const auto& call) {
    times.at(at++) = Now();
    call();
    times.at(at++) = Now();
  };
  const std::string late_name = "late";
  const std::string operator_name(70, 'o');
  std::unique_ptr<phi::RecordEvent> outer;
  std::unique_ptr<phi::RecordEvent> late;
  std::unique_ptr<phi::RecordEvent> inner;
  timed([&] { outer = std::make_unique<phi::RecordEvent>("outer"); });
  Sleep(2);
  timed([&] { late = std::make_unique<phi::RecordEvent>(late_name); });
  Sleep(3);
  timed([&] { outer->End(); });
  outer.reset();  // ends it once more
  Sleep(1);
  timed([&] { late.reset(); });
  timed([&] { inner = std::make_unique<phi::RecordEvent>(operator_name.c_str()); });
  Sleep(1);
  timed([&] { inner.reset(); });
  return times;
}

bool HasLine() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

}  // namespace

int main() {
  std::puts("ready");
  std::fflush(stdout);
  std::vector<Times> rounds;
  while (!HasLine()) rounds.push_back(Round());
  std::printf("[");
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    std::printf("%s[", i == 0 ? "" : ",");
    for (std::size_t at = 0; at < rounds[i].size(); ++at)
      std::printf("%s%lu", at == 0 ? "" : ",", rounds[i][at]);
    std::printf("]");
  }
  std::puts("]");
  return 0;
}
