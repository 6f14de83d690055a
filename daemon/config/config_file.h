// ConfigFile: profd.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/config/settings.h"

namespace profd::config {

inline constexpr const char* kConfigFile = "/etc/profd/profd.toml";

// A value that somebody gave to a setting.
struct Assignment {
  const Setting* setting;
  std::string text;
  std::string place;  // "/etc/profd/profd.toml:7", "--log-level", "PROFD_LOG_LEVEL"
};

// Every value of the file is of the right kind and in range. kInvalidArgument: a line for each
// thing that is wrong, with its place and what would be right.
[[nodiscard]] Result<std::vector<Assignment>> ParseConfig(std::string_view text,
                                                          const std::string& path);
// kNotFound: there is no such file.
[[nodiscard]] Result<std::vector<Assignment>> ReadConfigFile(const std::string& path);

}  // namespace profd::config
