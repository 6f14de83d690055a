#include "client/cli/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace profd::client {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
constexpr std::array<Unit, 8> kUnits{{{"", 1e9},
                                      {"us", 1e3},
                                      {"ms", 1e6},
                                      {"s", 1e9},
                                      {"sec", 1e9},
                                      {"m", 60e9},
                                      {"min", 60e9},
                                      {"h", 3600e9}}};

Error Refuse(std::string_view option, std::string_view text, std::string_view why,
             std::string_view hint) {
  return Error{ErrorCode::kInvalidArgument,
               std::string(option) + " " + std::string(text) + ": " + std::string(why),
               std::string(hint)};
}

}  // namespace

Result<std::uint64_t> ParseDuration(std::string_view text) {
  constexpr std::string_view kOption = "-d";
  constexpr std::string_view kRange = "the duration must be between 1ms and 24h";
  constexpr std::string_view kForms = "write 10s, 500ms, 2m or 1h; a bare number is seconds";
  // No sign, no exponent, no "inf": digits with at most one point, then a unit.
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  if (text.starts_with('-') && text.size() > 1) return Refuse(kOption, text, kRange, kForms);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value,
                                            std::chars_format::fixed);
  if (number.empty() || error != std::errc{} || end != number.data() + number.size())
    return Refuse(kOption, text, "not a duration", kForms);
  const auto unit = std::ranges::find(kUnits, text.substr(digits), &Unit::name);
  if (unit == kUnits.end()) return Refuse(kOption, text, "not a duration", kForms);
  const double ns = value * unit->ns;
  if (ns < static_cast<double>(kShortestNs) || ns > static_cast<double>(kLongestNs))
    return Refuse(kOption, text, kRange, kForms);
  return static_cast<std::uint64_t>(std::llround(ns));
}

Result<void> ParseIds(std::string_view option, std::string_view text,
                      std::vector<std::uint32_t>& ids) {
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view number = rest.substr(0, comma);
    std::uint32_t id = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
    if (error != std::errc{} || end != number.data() + number.size() || id == 0 || id > 0x7fffffffu)
      return Refuse(option, text, "not a list of numbers",
                    "write " + std::string(option) + " 1234 or " + std::string(option) +
                        " 1234,1235; by name it is --comm NAME");
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    if (comma == rest.size()) return {};
    rest.remove_prefix(comma + 1);
  }
}

Result<std::uint32_t> ParseFrequency(std::string_view text) {
  std::uint32_t hz = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hz);
  const bool whole = end == text.data() + text.size();
  if ((error == std::errc{} && whole && hz >= 1 && hz <= kHighestHz)) return hz;
  return Refuse("-F", text,
                "the limits are 1 and " + std::to_string(kHighestHz) + " samples a second",
                "the default is 99");
}

Result<double> ParseBudget(std::string_view text) {
  if (text == "off") return -1.0;
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc{} && unit == "%" && percent > 0 && percent <= kHighestPercent)
    return percent / 100;
  return Refuse("--budget", text, "not a share of a CPU", "write --budget 5%, or --budget off");
}

}  // namespace profd::client
