// LabelValues: what threads have published about their work, in a profile, and what processes are
// called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Number of the labels of a sample; 0: none. The profile has passed CheckProfile.
[[nodiscard]] std::uint32_t LabelsOf(const v1::Profile& profile, int sample);

// The value of one of these labels; nothing: they have none of this name. Not made safe; lives as
// long as the profile.
[[nodiscard]] std::optional<std::string_view> LabelIn(const v1::Profile& profile,
                                                      std::uint32_t labels, std::string_view name);

// The same of a process: "service.name", "host.name".
[[nodiscard]] std::optional<std::string_view> LabelIn(const v1::Process& process,
                                                      std::string_view name);

// "part=load, step=3"; "" for none. Safe.
[[nodiscard]] std::string LabelsText(const v1::Profile& profile, std::uint32_t labels);

// Of "label:NAME" the name; else "".
[[nodiscard]] std::string_view LabelNamedBy(std::string_view text);

}  // namespace profd::client
