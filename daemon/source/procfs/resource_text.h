// ResourceText: what a process says it is, as OpenTelemetry has it: attributes of its resource.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace profd::source {

// By name. Bounded, and valid UTF-8 without control characters.
using ResourceAttributes = std::map<std::string, std::string>;

inline constexpr std::size_t kMaxAttributes = 64;
inline constexpr std::size_t kMaxAttributeName = 128;    // bytes; longer ones are left out
inline constexpr std::size_t kMaxAttributeValue = 256;   // bytes; longer ones are cut
inline constexpr std::size_t kMaxResourceText = 32'768;  // of all

// Of /proc/PID/environ the two variables that are meant to be published, OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES; the first one's name of the service comes first. As the specification
// has it, a list with an error is no list.
[[nodiscard]] ResourceAttributes ResourceOf(std::string_view environment);

// Adds an attribute within the bounds; a name that is known already keeps its value.
void AddAttribute(std::string_view name, std::string_view value, ResourceAttributes& attributes);

// Names and values, each with a zero behind it; at most kMaxResourceText.
[[nodiscard]] std::string PackResource(const ResourceAttributes& attributes);

}  // namespace profd::source
