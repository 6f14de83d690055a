// Counts: what hardware counters have counted, and the rates that follow from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Of a thread, a sample, or a sum of these.
struct Counts {
  std::uint64_t counted_ns = 0;  // CPU time that the others cover
  std::uint64_t cycles = 0;
  std::uint64_t instructions = 0;
  std::uint64_t cache_misses = 0;

  Counts& operator+=(const Counts& other);
  Counts& operator-=(const Counts& part);

  // Cycles a ns; cycles of an instruction; misses of 1,000 instructions. Nothing: not known, also
  // where the host lacks one of the counters.
  [[nodiscard]] std::optional<double> gigahertz() const;
  [[nodiscard]] std::optional<double> cycles_per_instruction() const;
  [[nodiscard]] std::optional<double> instructions_per_cycle() const;
  [[nodiscard]] std::optional<double> misses_per_thousand() const;
};

// Exact; zeros where nothing is counted.
[[nodiscard]] Counts CountsOf(const v1::Thread& thread);
// Its part of what was counted for its thread.
[[nodiscard]] Counts CountsAt(const v1::Samples& samples, int sample);

// Whether some hardware counter has counted.
[[nodiscard]] bool HasCounts(const v1::Profile& profile);
// Why none has; "" where one has.
[[nodiscard]] std::string NoCountsText(const v1::Profile& profile);

// "2.91 GHz, CPI 1.61 (0.62 instructions a cycle), 4.20 cache misses per 1,000 instructions": what
// of it is known.
[[nodiscard]] std::string CountsText(const Counts& counts);
// "counted for 98.3 % of running time"; "" where nothing ran.
[[nodiscard]] std::string CountedTimeText(const Counts& counts, std::uint64_t running_ns);

// "1.23", "45.1" or "123"; "-" for what is not known.
[[nodiscard]] std::string FormatRate(std::optional<double> rate);

}  // namespace profd::client
