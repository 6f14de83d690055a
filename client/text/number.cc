#include "client/text/number.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace profd::client {
namespace {

struct Unit {
  const char* name;
  double size;
};

std::string ThreeDigits(double value) {
  // Decimals are chosen after rounding: 9.996 is "10.0", not "10.00".
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string WithUnit(double value, std::span<const Unit> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() &&
         value / units[unit].size >= units[unit + 1].size / units[unit].size - 0.5)
    ++unit;
  return ThreeDigits(value / units[unit].size) + " " + units[unit].name;
}

}  // namespace

std::string FormatDuration(std::uint64_t ns) {
  constexpr std::array<Unit, 4> kUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  if (ns < 1000) return std::to_string(ns) + " ns";
  if (ns >= 999'500'000'000u) return FormatSpan(ns);
  return WithUnit(static_cast<double>(ns), kUnits);
}

std::string FormatSpan(std::uint64_t ns) {
  const std::uint64_t seconds = ns / 1'000'000'000u;
  const auto pair = [](std::uint64_t a, const char* a_unit, std::uint64_t b, const char* b_unit) {
    return std::to_string(a) + " " + a_unit + " " + std::to_string(b) + " " + b_unit;
  };
  if (seconds >= 86400) return pair(seconds / 86400, "d", seconds % 86400 / 3600, "h");
  if (seconds >= 3600) return pair(seconds / 3600, "h", seconds % 3600 / 60, "min");
  if (seconds >= 60) return pair(seconds / 60, "min", seconds % 60, "s");
  return std::to_string(seconds) + " s";
}

std::string FormatCount(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array<Unit, 5> kUnits{{{"B", 1},
                                        {"KiB", 1024},
                                        {"MiB", 1024.0 * 1024},
                                        {"GiB", 1024.0 * 1024 * 1024},
                                        {"TiB", 1024.0 * 1024 * 1024 * 1024}}};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  return WithUnit(static_cast<double>(bytes), kUnits);
}

std::string FormatShare(double fraction) {
  if (!std::isfinite(fraction)) return "- %";
  const double percent = fraction * 100;
  std::array<char, 48> text;
  // A small negative number would print as "-0.0".
  std::snprintf(text.data(), text.size(), "%.1f %%", std::fabs(percent) < 0.05 ? 0.0 : percent);
  return text.data();
}

std::string FormatSampledShare(double fraction, bool few_samples) {
  return (few_samples ? "~" : "") + FormatShare(fraction);
}

}  // namespace profd::client
