// Durations as people write them: "500ms", "1.5h", "7d". One grammar for every option and setting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace profd {

// What a caller accepts. The limits are durations themselves, written as messages show them.
struct DurationLimits {
  std::string_view least = {};  // "": 0
  std::string_view most = {};   // "": 2^63 - 1 ns, which is 292 years
  bool needs_unit = false;      // false: a number without a unit is in seconds
};

// Examples for messages and manual pages, within the limits: "500ms, 10s, 2h or 7d".
[[nodiscard]] std::string DurationForms(const DurationLimits& limits = {});

// Digits with at most one point, then a unit: ns, us, ms, s, sec, m, min, h, d or w. One or more
// spaces may stand before the unit. No sign, no exponent. In ns, rounded. kInvalidArgument: the
// text is not a duration or beyond a limit; the hint shows how to write one.
[[nodiscard]] Result<std::uint64_t> ParseDuration(std::string_view text,
                                                  const DurationLimits& limits = {});

// In the largest unit that gives a whole number: "90s", "1w". ParseDuration reads it back.
[[nodiscard]] std::string DurationText(std::uint64_t ns);

}  // namespace profd
