// Values of options, as people write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::client {

inline constexpr std::uint64_t kShortestNs = 1'000'000;           // 1ms
inline constexpr std::uint64_t kLongestNs = 86'400'000'000'000u;  // 24h
inline constexpr std::uint32_t kHighestHz = 1'000'000;            // the kernel's own limit is lower
inline constexpr double kHighestPercent = 6'400;                  // of one CPU

// "10s", "500ms", "2m", "1h", "1.5"; a bare number is seconds. Between 1ms and 24h.
[[nodiscard]] Result<std::uint64_t> ParseDuration(std::string_view text);

// "12,13": positive numbers of processes or threads; appended to `ids`, each once.
[[nodiscard]] Result<void> ParseIds(std::string_view option, std::string_view text,
                                    std::vector<std::uint32_t>& ids);

// Samples a second, 1 to kHighestHz.
[[nodiscard]] Result<std::uint32_t> ParseFrequency(std::string_view text);

// "5%" or "off", as CPUs: 0.05, -1. More than 0 and at most 6,400 %.
[[nodiscard]] Result<double> ParseBudget(std::string_view text);

}  // namespace profd::client
