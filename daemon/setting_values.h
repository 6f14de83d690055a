// Setting values: from the text of a flag, a variable or a file to a field of Options, and back.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/settings.h"

namespace profd {

// "10s", "500ms", "7d"; a bare number is seconds. None: not a duration.
[[nodiscard]] std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);
// "1GiB", "500MB", "64K"; a bare number is bytes; K, M, G, T are KiB, MiB, GiB, TiB.
[[nodiscard]] std::optional<Bytes> ParseBytes(std::string_view text);

// Checks kind, choices and range. kInvalidArgument: "is 'x'; it must be ...", to follow its name.
[[nodiscard]] Result<void> SetValue(const Setting& setting, std::string_view text,
                                    Options& options);
// The value in the shortest of the ways in which it can be written.
[[nodiscard]] std::string ValueText(const Setting& setting, const Options& options);
// What it may be: "one of debug, info", "a duration such as 10s, from 1s to 10d".
[[nodiscard]] std::string Expected(const Setting& setting);

}  // namespace profd
