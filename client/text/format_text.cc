#include "client/text/format_text.h"

#include <cstdio>
#include <ctime>

namespace profd::client {
namespace {

template <typename... Args>
std::string Print(const char* format, Args... args) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, format, args...);
  return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
}

}  // namespace

std::string FormatDuration(std::uint64_t ns) {
  if (ns >= 999'500'000'000) {
    const auto s = static_cast<unsigned long long>(ns / 1'000'000'000);
    if (s < 3600) return Print("%llu min %llu s", s / 60, s % 60);
    if (s < 86400) return Print("%llu h %llu min", s / 3600, s % 3600 / 60);
    return Print("%llu d %llu h", s / 86400, s % 86400 / 3600);
  }
  if (ns < 1000) return Print("%u ns", static_cast<unsigned>(ns));
  constexpr const char* kUnits[] = {"us", "ms", "s"};
  double value = static_cast<double>(ns) / 1000;
  int unit = 0;
  // 999.5 would be printed as four digits.
  for (; unit < 2 && value >= 999.5; ++unit) value /= 1000;
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return Print("%.*f %s", decimals, value, kUnits[unit]);
}

std::string FormatCount(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string FormatShare(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0.0 %";
  return Print("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string FormatInstant(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  char text[64];
  if (::gmtime_r(&seconds, &utc) == nullptr) return "";
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc));
}

}  // namespace profd::client
