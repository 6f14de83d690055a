// Values of JSON that may be damaged: what is not there, or of another kind, is 0 or empty.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "daemon/fleet/profile/export_profile.h"

namespace profd::fleet {

// Of the member `key` of an object.
[[nodiscard]] std::uint64_t NumberIn(const nlohmann::json& object, const char* key);
[[nodiscard]] std::string TextIn(const nlohmann::json& object, const char* key);
[[nodiscard]] Gaps GapsIn(const nlohmann::json& object, const char* key);

}  // namespace profd::fleet
