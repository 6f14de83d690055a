// Times before and after calls of a program, which it reports at its end; and when that is.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

namespace profd::steps {

// ns of that clock.
inline std::uint64_t Now(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline void Sleep(std::uint64_t ns) {
  const timespec length{static_cast<time_t>(ns / 1'000'000'000),
                        static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&length, nullptr);
}

// Makes the call, and notes the time before and after it as number `at`.
template <std::size_t size, typename Call>
void Timed(std::array<std::uint64_t, size>& times, std::size_t at, const Call& call) {
  times.at(2 * at) = Now(CLOCK_MONOTONIC);
  call();
  times.at(2 * at + 1) = Now(CLOCK_MONOTONIC);
}

// Whether a line has come on the standard input.
inline bool HasLine() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

// As one line of JSON.
template <std::size_t size>
void Report(const std::vector<std::array<std::uint64_t, size>>& all) {
  std::printf("[");
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::printf("%s[", i == 0 ? "" : ",");
    for (std::size_t at = 0; at < size; ++at) std::printf("%s%lu", at == 0 ? "" : ",", all[i][at]);
    std::printf("]");
  }
  std::puts("]");
}

}  // namespace profd::steps
