#include "client/text/number.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <span>

namespace profd::client {
namespace {

struct Unit {
  const char* name;
  double size;
};

std::string WithUnit(double value, std::span<const Unit> units) {
  std::size_t unit = 0;
  // 999.5 of a unit would be printed with four digits.
  while (unit + 1 < units.size() &&
         value / units[unit].size >= units[unit + 1].size / units[unit].size - 0.5)
    ++unit;
  value /= units[unit].size;
  // Decimals are chosen after rounding: 9.996 is "10.0", not "10.00".
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit].name);
}

// A small negative number would be printed as "-0.0".
std::string Percent(double percent) {
  return fmt::format("{:.1f} %", std::fabs(percent) < 0.05 ? 0.0 : percent);
}

}  // namespace

std::string FormatDuration(std::uint64_t ns) {
  constexpr std::array<Unit, 4> kUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns >= 999'500'000'000u) return FormatSpan(ns);
  return WithUnit(static_cast<double>(ns), kUnits);
}

std::string FormatDurationReach(std::uint64_t reach_ns, std::uint64_t ns) {
  constexpr std::uint64_t kThreeDigits = 1000;
  std::uint64_t last_digit = 1;
  while (ns / last_digit >= kThreeDigits) last_digit *= 10;
  return 2 * reach_ns < last_digit || reach_ns == 0 ? "" : " +-" + FormatDuration(reach_ns);
}

std::string FormatSpan(std::uint64_t ns) {
  const std::uint64_t seconds = ns / 1'000'000'000u;
  if (seconds >= 86400) return fmt::format("{} d {} h", seconds / 86400, seconds % 86400 / 3600);
  if (seconds >= 3600) return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
  if (seconds >= 60) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} s", seconds);
}

std::string FormatInstant(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", utc);
}

std::string FormatDecimals(double number, int decimals) {
  return fmt::format("{:.{}f}", number, decimals);
}

std::string FormatChange(double percent, int decimals) {
  return fmt::format("{:+.{}f} %", percent, decimals);
}

std::string FormatFactor(double factor) { return fmt::format("{:.3g}", factor); }

std::string FormatCount(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string FormatCount(std::uint64_t count, std::string_view what) {
  const std::string_view plural = count == 1                                    ? ""
                                  : what.ends_with('s') || what.ends_with("ch") ? "es"
                                                                                : "s";
  return fmt::format("{} {}{}", FormatCount(count), what, plural);
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array<Unit, 5> kUnits{{{"B", 1},
                                        {"KiB", 1024},
                                        {"MiB", 1024.0 * 1024},
                                        {"GiB", 1024.0 * 1024 * 1024},
                                        {"TiB", 1024.0 * 1024 * 1024 * 1024}}};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return WithUnit(static_cast<double>(bytes), kUnits);
}

double ShareOf(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string FormatShare(double fraction) {
  return std::isfinite(fraction) ? Percent(fraction * 100) : "- %";
}

std::string FormatShare(std::uint64_t part, std::uint64_t whole) {
  // Not by the fraction: its error would round 28.75 % down.
  return whole == 0 ? "0.0 %"
                    : Percent(100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string FormatSampledShare(double fraction, bool few_samples) {
  return (few_samples ? "~" : "") + FormatShare(fraction);
}

std::string FormatReach(double reach) {
  constexpr double kShown = 0.0005;  // half of a tenth of a percent
  return reach < kShown ? "" : " +-" + FormatDecimals(100 * reach, 1);
}

std::string FormatThreads(std::uint64_t ns, std::uint64_t length_ns) {
  const double threads = ShareOf(ns, length_ns);
  // Where rounding would add a digit, it is the next format's.
  if (threads < 9.9995) return FormatDecimals(threads, 3);
  if (threads < 99.995) return FormatDecimals(threads, 2);
  if (threads < 999.95) return FormatDecimals(threads, 1);
  return FormatCount(static_cast<std::uint64_t>(std::llround(threads)));
}

std::string FormatSampledThreads(std::uint64_t ns, std::uint64_t length_ns, bool few_samples) {
  return (few_samples ? "~" : "") + FormatThreads(ns, length_ns);
}

std::string FormatThreadsReach(double reach) {
  constexpr double kShown = 0.0005;  // half of the last digit
  return reach < kShown ? "" : " +-" + FormatDecimals(reach, 3);
}

}  // namespace profd::client
