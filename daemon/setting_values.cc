#include "daemon/setting_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <type_traits>

namespace profd {
namespace {

using std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

// Each from small to large; the first of a size is the one that is written.
constexpr std::array<Unit, 9> kDurations = {{{"ns", 1},
                                             {"us", 1'000},
                                             {"ms", 1'000'000},
                                             {"s", 1'000'000'000},
                                             {"m", 60'000'000'000},
                                             {"min", 60'000'000'000},
                                             {"h", 3'600'000'000'000},
                                             {"d", 86'400'000'000'000},
                                             {"w", 604'800'000'000'000}}};
constexpr std::array<Unit, 13> kBytes = {{{"B", 1},
                                          {"kB", 1'000},
                                          {"KiB", 1ull << 10},
                                          {"K", 1ull << 10},
                                          {"MB", 1'000'000},
                                          {"MiB", 1ull << 20},
                                          {"M", 1ull << 20},
                                          {"GB", 1'000'000'000},
                                          {"GiB", 1ull << 30},
                                          {"G", 1ull << 30},
                                          {"TB", 1'000'000'000'000},
                                          {"TiB", 1ull << 40},
                                          {"T", 1ull << 40}}};

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return {};
  return number;
}

// Not negative and below 2^63, in the unit of size 1. No unit: `bare`.
std::optional<std::uint64_t> ParseAmount(std::string_view text, std::span<const Unit> units,
                                         std::uint64_t bare) {
  const std::size_t letters = text.find_first_not_of("0123456789.");
  const auto number = ParseNumber(text.substr(0, letters));
  if (!number) return {};
  std::uint64_t size = letters == std::string_view::npos ? bare : 0;
  if (size == 0)
    for (const auto& unit : units)
      if (unit.name == text.substr(text.find_first_not_of(' ', letters))) size = unit.size;
  const double amount = *number * static_cast<double>(size);
  if (size == 0 || amount >= 0x1p63) return {};
  return static_cast<std::uint64_t>(std::llround(amount));
}

std::string AmountText(std::uint64_t amount, std::span<const Unit> units) {
  Unit best = units.front();
  for (const auto& unit : units)
    if (amount != 0 && amount % unit.size == 0 && unit.size > best.size) best = unit;
  return std::to_string(amount / best.size) + std::string(best.name);
}

std::string NumberText(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

std::optional<bool> ParseSwitch(std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return {};
}

// One overload for each kind of field: a value to compare with the limits, or none.
std::optional<bool> Parse(std::string_view text, bool) { return ParseSwitch(text); }
std::optional<std::string> Parse(std::string_view text, const std::string&) {
  return std::string(text);
}
std::optional<std::uint64_t> Parse(std::string_view text, std::uint64_t) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}
std::optional<double> Parse(std::string_view text, double) { return ParseNumber(text); }
std::optional<nanoseconds> Parse(std::string_view text, nanoseconds) { return ParseDuration(text); }
std::optional<Bytes> Parse(std::string_view text, Bytes) { return ParseBytes(text); }

std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(const std::string& value) { return value; }
std::string Text(std::uint64_t value) { return std::to_string(value); }
std::string Text(double value) { return NumberText(value); }
std::string Text(nanoseconds value) {
  if (value.count() == 0) return "0s";
  return AmountText(static_cast<std::uint64_t>(value.count()), kDurations);
}
std::string Text(Bytes value) { return AmountText(value.count, kBytes); }

const char* Kind(bool) { return "true or false"; }
const char* Kind(const std::string&) { return "a string"; }
const char* Kind(std::uint64_t) { return "a whole number"; }
const char* Kind(double) { return "a number"; }
const char* Kind(nanoseconds) { return "a duration such as 500ms, 10s, 2h or 7d"; }
const char* Kind(Bytes) { return "a size such as 500MB or 1GiB"; }

template <typename Value>
bool Less(const Value& a, const Value& b) {
  if constexpr (std::is_same_v<Value, Bytes>)
    return a.count < b.count;
  else
    return a < b;
}

template <typename Value>
bool InRange(const Setting& setting, const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    bool known = setting.choices.empty();
    for (const auto choice : setting.choices) known = known || choice == value;
    return known;
  } else {
    const auto least = Parse(setting.least, Value{});
    const auto most = Parse(setting.most, Value{});
    return !(least && Less(value, *least)) && !(most && Less(*most, value));
  }
}

Error Wrong(const Setting& setting, std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          "is '" + std::string(text) + "'; it must be " + Expected(setting), ""};
}

}  // namespace

std::optional<nanoseconds> ParseDuration(std::string_view text) {
  const auto amount = ParseAmount(text, kDurations, 1'000'000'000);
  if (!amount) return {};
  return nanoseconds(*amount);
}

std::optional<Bytes> ParseBytes(std::string_view text) {
  const auto amount = ParseAmount(text, kBytes, 1);
  if (!amount) return {};
  return Bytes{*amount};
}

Result<void> SetValue(const Setting& setting, std::string_view text, Options& options) {
  return std::visit(
      [&](auto member) -> Result<void> {
        auto& place = options.*member;
        auto value = Parse(text, place);
        if (!value || !InRange(setting, *value)) return Wrong(setting, text);
        if (setting.check != nullptr) {
          if (const auto good = setting.check(std::string(text)); !good)
            return Error{ErrorCode::kInvalidArgument,
                         "is '" + std::string(text) + "': " + good.error().message,
                         good.error().hint};
        }
        place = *std::move(value);
        return {};
      },
      setting.field);
}

std::string ValueText(const Setting& setting, const Options& options) {
  return std::visit([&](auto member) { return Text(options.*member); }, setting.field);
}

std::string Expected(const Setting& setting) {
  if (!setting.choices.empty()) {
    std::string text = "one of ";
    for (const auto choice : setting.choices) {
      if (choice != setting.choices.front()) text += ", ";
      text += choice;
    }
    return text;
  }
  std::string text = std::visit(
      [](auto member) { return std::string(Kind(std::decay_t<decltype(Options().*member)>{})); },
      setting.field);
  if (!setting.least.empty() && !setting.most.empty())
    return text + ", from " + std::string(setting.least) + " to " + std::string(setting.most);
  if (!setting.least.empty()) return text + ", at least " + std::string(setting.least);
  if (!setting.most.empty()) return text + ", at most " + std::string(setting.most);
  return text;
}

}  // namespace profd
