// FunctionNames: functions of a profile by the names that people write.
#pragma once

#include <string_view>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// With or without the file and the line behind it.
[[nodiscard]] bool IsFunction(const v1::Frame& frame, std::string_view name);

// kNotFound; the hint has functions whose names contain it.
[[nodiscard]] Error NoSuchFunction(const v1::Profile& profile, std::string_view name);

}  // namespace profd::client
