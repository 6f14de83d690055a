#include "client/profile/counters/counts.h"

#include <algorithm>

#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr double kThousand = 1'000;

std::optional<double> Quotient(std::uint64_t a, std::uint64_t b, double factor = 1) {
  if (a == 0 || b == 0) return std::nullopt;
  return factor * static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  counted_ns += other.counted_ns;
  cycles += other.cycles;
  instructions += other.instructions;
  cache_misses += other.cache_misses;
  return *this;
}

Counts& Counts::operator-=(const Counts& part) {
  counted_ns -= part.counted_ns;
  cycles -= part.cycles;
  instructions -= part.instructions;
  cache_misses -= part.cache_misses;
  return *this;
}

std::optional<double> Counts::gigahertz() const { return Quotient(cycles, counted_ns); }

std::optional<double> Counts::cycles_per_instruction() const {
  return Quotient(cycles, instructions);
}

std::optional<double> Counts::instructions_per_cycle() const {
  return Quotient(instructions, cycles);
}

std::optional<double> Counts::misses_per_thousand() const {
  return Quotient(cache_misses, instructions, kThousand);
}

Counts CountsOf(const v1::Thread& thread) {
  const v1::HardwareCounts& counts = thread.counters();
  return {counts.counted_ns(), counts.cycles(), counts.instructions(), counts.cache_misses()};
}

Counts CountsAt(const v1::Samples& samples, int sample) {
  const auto at = [sample](const auto& column) {
    return column.empty() ? std::uint64_t{0} : column.Get(sample);
  };
  return {at(samples.counted_ns()), at(samples.cycles()), at(samples.instructions()),
          at(samples.cache_misses())};
}

bool HasCounts(const v1::Profile& profile) {
  const v1::HardwareCounters& counters = profile.hardware_counters();
  return counters.cycles() || counters.instructions() || counters.cache_misses();
}

std::string NoCountsText(const v1::Profile& profile) {
  if (HasCounts(profile)) return {};
  const std::string& missing = profile.hardware_counters().missing();
  if (!missing.empty()) return SafeText(missing);
  return "no hardware counters: the profile was collected without --counters";
}

std::string CountsText(const Counts& counts) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const auto rate = counts.gigahertz()) add(FormatRate(rate) + " GHz");
  if (const auto rate = counts.cycles_per_instruction())
    add("CPI " + FormatRate(rate) + " (" + FormatRate(counts.instructions_per_cycle()) +
        " instructions a cycle)");
  if (const auto rate = counts.misses_per_thousand())
    add(FormatRate(rate) + " cache misses per 1,000 instructions");
  return text.empty() ? "nothing was counted" : text;
}

std::string CountedTimeText(const Counts& counts, std::uint64_t running_ns) {
  if (running_ns == 0) return {};
  // Samples of some functions have more of their thread's counted time than of its running time.
  const std::uint64_t counted_ns = std::min(counts.counted_ns, running_ns);
  return "counted for " + FormatShare(ShareOf(counted_ns, running_ns)) + " of running time";
}

std::string FormatRate(std::optional<double> rate) {
  constexpr double kTens = 10;
  constexpr double kHundreds = 100;
  if (!rate) return "-";
  return FormatDecimals(*rate, *rate < kTens ? 2 : *rate < kHundreds ? 1 : 0);
}

}  // namespace profd::client
