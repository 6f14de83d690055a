// ConfigFile: reads and writes profd.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/config/settings.h"
#include "daemon/fleet/profile/settings.h"

namespace profd::config {

inline constexpr const char* kConfigFile = "/etc/profd/profd.toml";

// A value that a flag, a variable, the file or the default gives to a setting.
struct Assignment {
  const Setting* setting;
  std::string text;
  std::string place;  // "/etc/profd/profd.toml:7", "--log-level", "PROFD_LOG_LEVEL"
};

// What a file says.
struct ConfigFile {
  std::vector<Assignment> values;
  std::vector<fleet::ExportSettings> exports;  // its [[export]] tables
};

// Every value of the file is of the right kind and in range. kInvalidArgument: one line for each
// problem, with its place and what is expected there.
[[nodiscard]] Result<ConfigFile> ParseConfig(std::string_view text, const std::string& path);
// kNotFound: there is no such file.
[[nodiscard]] Result<ConfigFile> ReadConfigFile(const std::string& path);

// The settings of one TOML table; `name` is "" for keys outside of any table. The order is that of
// a file: those keys come first, because TOML cannot return to them after a table.
struct ConfigTable {
  std::string_view name;
  std::vector<const Setting*> settings;
};
[[nodiscard]] std::vector<ConfigTable> ConfigTables();
// "history.max_age" is `max_age` in its table.
[[nodiscard]] std::string_view KeyInTable(const Setting& setting);
// `text` as a TOML value of the setting's kind.
[[nodiscard]] std::string TomlValue(const Setting& setting, std::string_view text);

// The effective values, as a file that would give the same ones. Each names its place: that of the
// last assignment in `values`, which is the one that won.
[[nodiscard]] std::string EffectiveConfig(const std::vector<Assignment>& values,
                                          const Options& options);

}  // namespace profd::config
