// Profiles from json files.
#pragma once

#include <string>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// "-" is standard input. Errors name the file; kIo when it cannot be read, those of ReadJson.
[[nodiscard]] Result<v1::Profile> ReadProfileFile(const std::string& path);

}  // namespace profd::client
