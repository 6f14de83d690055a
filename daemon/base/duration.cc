#include "daemon/base/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace profd {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t ns;
};

// From small to large. Of several names of one size DurationText writes the first.
constexpr std::array<Unit, 10> kUnits{{{"ns", 1},
                                       {"us", 1'000},
                                       {"ms", 1'000'000},
                                       {"s", 1'000'000'000},
                                       {"sec", 1'000'000'000},
                                       {"m", 60'000'000'000},
                                       {"min", 60'000'000'000},
                                       {"h", 3'600'000'000'000},
                                       {"d", 86'400'000'000'000},
                                       {"w", 604'800'000'000'000}}};
constexpr double kTooLong = 0x1p63;

// In ns, of any size. Nothing: the text does not follow the grammar.
std::optional<double> Read(std::string_view text, bool needs_unit) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
  const bool is_number = error == std::errc() && end == text.data() + digits;
  if (!is_number || digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  if (text.empty()) return needs_unit ? std::nullopt : std::optional(number * 1e9);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto unit = std::ranges::find(kUnits, text, &Unit::name);
  if (unit == kUnits.end()) return std::nullopt;
  return number * static_cast<double>(unit->ns);
}

// Whether the limits allow it. A limit that is no duration limits nothing.
bool IsWithin(double ns, const DurationLimits& limits) {
  return ns >= Read(limits.least, true).value_or(0) && ns < kTooLong &&
         ns <= Read(limits.most, true).value_or(kTooLong);
}

std::string LimitsText(const DurationLimits& limits) {
  const std::string least(limits.least);
  const std::string most(limits.most);
  if (!least.empty() && !most.empty()) return "between " + least + " and " + most;
  if (!least.empty()) return "at least " + least;
  return "at most " + (most.empty() ? "290 years" : most);
}

Error Refuse(std::string message, const DurationLimits& limits) {
  return Error{ErrorCode::kInvalidArgument, std::move(message),
               "write " + DurationForms(limits) +
                   (limits.needs_unit ? "" : "; a number without a unit is in seconds")};
}

}  // namespace

std::string DurationForms(const DurationLimits& limits) {
  std::string text;
  std::string last;
  for (const char* form : {"500ms", "10s", "2h", "7d"}) {
    if (!IsWithin(Read(form, true).value_or(0), limits)) continue;
    if (!last.empty()) text += (text.empty() ? "" : ", ") + last;
    last = form;
  }
  return text.empty() ? last : text + " or " + last;
}

Result<std::uint64_t> ParseDuration(std::string_view text, const DurationLimits& limits) {
  // A negative one is understood and is too short.
  const bool negative = text.starts_with('-');
  const std::optional<double> ns = Read(negative ? text.substr(1) : text, limits.needs_unit);
  if (!ns) return Refuse("not a duration", limits);
  if (negative || !IsWithin(*ns, limits))
    return Refuse("the duration must be " + LimitsText(limits), limits);
  return static_cast<std::uint64_t>(std::llround(*ns));
}

std::string DurationText(std::uint64_t ns) {
  if (ns == 0) return "0s";
  const Unit* best = &kUnits.front();
  for (const Unit& unit : kUnits)
    if (ns % unit.ns == 0 && unit.ns > best->ns) best = &unit;
  return std::to_string(ns / best->ns) + std::string(best->name);
}

}  // namespace profd
