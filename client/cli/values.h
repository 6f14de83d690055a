// Values of options, as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/duration.h"
#include "daemon/base/result.h"

namespace profd::client {

inline constexpr DurationLimits kSessionLimits{.least = "1ms", .most = "24h"};
inline constexpr std::uint32_t kHighestHz = 1'000'000;  // the kernel's own limit is lower
inline constexpr double kHighestPercent = 6'400;        // of one CPU

// An error in the command line: kInvalidArgument.
[[nodiscard]] Error Usage(std::string message, std::string hint);

// In ns. The errors of ParseDuration, with the option in front: "-d 10x: not a duration".
[[nodiscard]] Result<std::uint64_t> ParseDurationOf(std::string_view option, std::string_view text,
                                                    const DurationLimits& limits);

// "12,13": positive numbers of processes or threads; appended to `ids`, each once.
[[nodiscard]] Result<void> ParseIds(std::string_view option, std::string_view text,
                                    std::vector<std::uint32_t>& ids);

inline constexpr std::string_view kServiceLabel = "service.name";
inline constexpr const char* kServiceHelp =
    "processes of this service: label service.name; of a fleet, as profctl list --fleet shows it";

// A value of --label: "NAME=VALUE".
[[nodiscard]] Result<void> CheckLabel(const std::string& text);

// Samples a second, 1 to kHighestHz.
[[nodiscard]] Result<std::uint32_t> ParseFrequency(std::string_view text);

// "5%" or "off", as CPUs: 0.05, -1. More than 0 and at most 6,400 %.
[[nodiscard]] Result<double> ParseBudget(std::string_view text);

}  // namespace profd::client
