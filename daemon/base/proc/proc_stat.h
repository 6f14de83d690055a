// Fields of /proc/PID/stat and /proc/PID/task/TID/stat, and lines of /proc/PID/status.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace profd {

// `field` as proc(5) counts, from 3 on. Nothing when it is not there, or no number.
[[nodiscard]] std::optional<std::uint64_t> StatField(std::string_view stat, int field);

// What follows `key`, "Uid:", on its line of a status file; "" when there is no such line.
[[nodiscard]] std::string_view StatusLine(std::string_view status, std::string_view key);

}  // namespace profd
