// Numbers as people read them: three significant digits and a unit, thousands separators, one
// decimal on shares. The script of the SVG (client/format/svg/) writes them the same way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace profd::client {

// "740 ns", "1.32 ms", "10.0 s"; from 1,000 s on as FormatSpan.
[[nodiscard]] std::string FormatDuration(std::uint64_t ns);
// " +-12.0 ms" of a time that may be wrong by so much; empty where that is less than its last digit
// shows.
[[nodiscard]] std::string FormatDurationReach(std::uint64_t reach_ns, std::uint64_t ns);
// Two units, for long times: "3 d 4 h", "16 min 40 s".
[[nodiscard]] std::string FormatSpan(std::uint64_t ns);
// "2026-11-20 13:05:59 UTC"; empty for a time beyond what the calendar of libc holds.
[[nodiscard]] std::string FormatInstant(std::uint64_t unix_ns);
// "0.50" of (0.5, 2); "1.25" of (1.2514, 2).
[[nodiscard]] std::string FormatDecimals(double number, int decimals);
// Three significant digits: "1.5", "0.333".
[[nodiscard]] std::string FormatFactor(double factor);
// "+50.0 %" of (50, 1), "-12 %" of (-12, 0).
[[nodiscard]] std::string FormatChange(double percent, int decimals);
// "3,214".
[[nodiscard]] std::string FormatCount(std::uint64_t count);
// "1 thread", "3,214 threads", "2 processes".
[[nodiscard]] std::string FormatCount(std::uint64_t count, std::string_view what);
// "412 MiB".
[[nodiscard]] std::string FormatBytes(std::uint64_t bytes);
// Fraction of `part` in `whole`; 0 of nothing.
[[nodiscard]] double ShareOf(std::uint64_t part, std::uint64_t whole);
// Fraction 0.172 -> "17.2 %".
[[nodiscard]] std::string FormatShare(double fraction);
// The same of `part` in `whole`; "0.0 %" of nothing.
[[nodiscard]] std::string FormatShare(std::uint64_t part, std::uint64_t whole);

// A share that rests on fewer samples than this is printed with `~`.
inline constexpr std::uint64_t kFewSamples = 10;
[[nodiscard]] std::string FormatSampledShare(double fraction, bool few_samples);
// " +-1.2" of a share that may be wrong by 0.012; empty where that is less than the last digit of
// the share shows.
[[nodiscard]] std::string FormatReach(double reach);

// Threads on average: `ns` of threads' time in `length_ns`. "0.543", "12.35", "128.4"; 0 in no
// time.
[[nodiscard]] std::string FormatThreads(std::uint64_t ns, std::uint64_t length_ns);
// The same of a number that rests on fewer than kFewSamples.
[[nodiscard]] std::string FormatSampledThreads(std::uint64_t ns, std::uint64_t length_ns,
                                               bool few_samples);
// " +-0.012" of threads on average that may be wrong by so many; empty where it does not show.
[[nodiscard]] std::string FormatThreadsReach(double reach);

}  // namespace profd::client
