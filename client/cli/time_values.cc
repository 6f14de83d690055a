#include "client/cli/time_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <optional>

namespace profd::client {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::string_view kTimeForms =
    "write 14:05, 2026-11-20, \"2026-11-20 14:05\", 2026-11-20T14:05:00Z, or 1h for an hour ago";

// Takes `digits` decimal digits off the text.
std::optional<int> TakeNumber(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc{} || end != text.data() + digits || text.front() == '-')
    return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool Take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// "2026-11-20" into the date of `time`.
bool TakeDate(std::string_view& text, std::tm& time) {
  const auto year = TakeNumber(text, 4);
  if (!year || !Take(text, '-')) return false;
  const auto month = TakeNumber(text, 2);
  if (!month || !Take(text, '-')) return false;
  const auto day = TakeNumber(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return false;
  time.tm_year = *year - 1900;
  time.tm_mon = *month - 1;
  time.tm_mday = *day;
  return true;
}

// "14:05" or "14:05:30.25" into the time of day of `time`; what is behind the point is cut.
bool TakeTimeOfDay(std::string_view& text, std::tm& time) {
  const auto hour = TakeNumber(text, 2);
  if (!hour || !Take(text, ':')) return false;
  const auto minute = TakeNumber(text, 2);
  if (!minute || *hour > 23 || *minute > 59) return false;
  time.tm_hour = *hour;
  time.tm_min = *minute;
  time.tm_sec = 0;
  if (!Take(text, ':')) return true;
  const auto second = TakeNumber(text, 2);
  if (!second || *second > 60) return false;
  time.tm_sec = *second;
  if (Take(text, '.'))
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  return true;
}

// "Z" or "+01:00" as seconds east of Greenwich.
std::optional<int> TakeZone(std::string_view& text) {
  if (Take(text, 'Z') || Take(text, 'z')) return 0;
  const int sign = text.starts_with('-') ? -1 : 1;
  if (!Take(text, '+') && !Take(text, '-')) return std::nullopt;
  const auto hours = TakeNumber(text, 2);
  if (!hours || !Take(text, ':')) return std::nullopt;
  const auto minutes = TakeNumber(text, 2);
  if (!minutes) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

std::tm LocalTime(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / kNsPerSecond);
  std::tm time{};
  ::localtime_r(&seconds, &time);
  return time;
}

// Nothing for a day that no month has, such as 31 February, and for times before 1970.
std::optional<std::uint64_t> ToUnixNs(std::tm time, std::optional<int> zone) {
  time.tm_isdst = -1;
  const std::tm requested = time;
  const std::time_t seconds = zone ? ::timegm(&time) - *zone : std::mktime(&time);
  if (seconds < 0 || time.tm_mday != requested.tm_mday) return std::nullopt;
  return static_cast<std::uint64_t>(seconds) * kNsPerSecond;
}

// The last time it was so late.
std::optional<std::uint64_t> ParseTimeOfDay(std::string_view text, std::uint64_t now_unix_ns) {
  std::tm time = LocalTime(now_unix_ns);
  if (!TakeTimeOfDay(text, time) || !text.empty()) return std::nullopt;
  const auto today = ToUnixNs(time, std::nullopt);
  if (!today || *today <= now_unix_ns) return today;
  std::tm yesterday = LocalTime(now_unix_ns - 86'400 * kNsPerSecond);
  yesterday.tm_hour = time.tm_hour;
  yesterday.tm_min = time.tm_min;
  yesterday.tm_sec = time.tm_sec;
  return ToUnixNs(yesterday, std::nullopt);
}

std::optional<std::uint64_t> ParseDate(std::string_view text) {
  std::tm time{};
  if (!TakeDate(text, time)) return std::nullopt;
  if (text.empty()) return ToUnixNs(time, std::nullopt);
  if (!Take(text, 'T') && !Take(text, 't') && !Take(text, ' ')) return std::nullopt;
  if (!TakeTimeOfDay(text, time)) return std::nullopt;
  if (text.empty()) return ToUnixNs(time, std::nullopt);
  const auto zone = TakeZone(text);
  if (!zone || !text.empty()) return std::nullopt;
  return ToUnixNs(time, zone);
}

}  // namespace

std::uint64_t NowUnixNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

Result<std::uint64_t> ParseTime(std::string_view option, std::string_view text,
                                std::uint64_t now_unix_ns) {
  if (text == "now") return now_unix_ns;
  if (const auto time = ParseTimeOfDay(text, now_unix_ns)) return *time;
  if (const auto time = ParseDate(text)) return *time;
  if (const auto span = ParseDuration(text, kSpanLimits))
    return now_unix_ns - std::min(now_unix_ns, *span);
  return Error{ErrorCode::kInvalidArgument,
               std::string(option) + " " + std::string(text) + ": not a time",
               std::string(kTimeForms)};
}

std::string FormatTime(std::uint64_t unix_ns) {
  const std::tm time = LocalTime(unix_ns);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &time);
  return {text.data(), size};
}

std::string FormatRange(std::uint64_t from_unix_ns, std::uint64_t to_unix_ns) {
  constexpr std::size_t kDate = 11;  // with the space behind it
  const std::string from = FormatTime(from_unix_ns);
  const std::string to = FormatTime(to_unix_ns);
  const bool same_day = from.substr(0, kDate) == to.substr(0, kDate);
  return from + " to " + (same_day ? to.substr(kDate) : to);
}

}  // namespace profd::client
