#include "client/cli/values.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace profd::client {
namespace {

Error Refuse(std::string_view option, std::string_view text, std::string_view why,
             std::string_view hint) {
  return Error{ErrorCode::kInvalidArgument,
               std::string(option) + " " + std::string(text) + ": " + std::string(why),
               std::string(hint)};
}

}  // namespace

Error Usage(std::string message, std::string hint) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

Result<std::uint64_t> ParseDurationOf(std::string_view option, std::string_view text,
                                      const DurationLimits& limits) {
  Result<std::uint64_t> duration = ParseDuration(text, limits);
  if (duration) return duration;
  return Refuse(option, text, duration.error().message, duration.error().hint);
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

Result<void> CheckLabel(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != 0 && equals != std::string::npos) return {};
  return Usage("--label " + text + ": it is no NAME=VALUE",
               "as in --label service.name=cart; profctl list --json shows the labels");
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
