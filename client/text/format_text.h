// Numbers as people read them. The script of the svg writes them the same way, and so
// does the terminal (client/text/number.h).
#pragma once

#include <cstdint>
#include <string>

namespace profd::client {

// Three significant digits and a unit: "532 ns", "12.3 us", "1.00 ms", "10.0 s"; from 1,000 s
// on "16 min 40 s", "3 h 20 min", "4 d 2 h".
[[nodiscard]] std::string FormatDuration(std::uint64_t ns);
// "1,234,567".
[[nodiscard]] std::string FormatCount(std::uint64_t count);
// "12.3 %"; "0.0 %" of nothing.
[[nodiscard]] std::string FormatShare(std::uint64_t part, std::uint64_t whole);
// "2026-11-20 13:05:59 UTC".
[[nodiscard]] std::string FormatInstant(std::uint64_t unix_ns);

}  // namespace profd::client
