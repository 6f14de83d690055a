// Instants and ranges of the past, as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/duration.h"
#include "daemon/base/result.h"

namespace profd::client {

// Of a span of the past: ten years at most. It needs a unit, since "14" could be a time of day.
inline constexpr DurationLimits kSpanLimits{.least = "1ns", .most = "3650d", .needs_unit = true};

[[nodiscard]] std::uint64_t NowUnixNs();

// ns since 1970 of "14:05" and "14:05:30" (the last time that was so), "2026-11-20",
// "2026-11-20 14:05", both in the local time zone, RFC 3339 ("2026-11-20T14:05:00Z", "...+01:00"),
// "now", and of a span: so long ago. `option` is for the message.
[[nodiscard]] Result<std::uint64_t> ParseTime(std::string_view option, std::string_view text,
                                              std::uint64_t now_unix_ns);

// "2026-11-20 14:05:10", local.
[[nodiscard]] std::string FormatTime(std::uint64_t unix_ns);
// Two instants; the second one without its date where that is the same.
[[nodiscard]] std::string FormatRange(std::uint64_t from_unix_ns, std::uint64_t to_unix_ns);

}  // namespace profd::client
