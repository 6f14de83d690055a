// Fields of /proc/PID/stat and /proc/PID/task/TID/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace profd {

// `field` as proc(5) counts, from 3 on. Nothing when it is not there, or no number.
[[nodiscard]] std::optional<std::uint64_t> StatField(std::string_view stat, int field);

}  // namespace profd
