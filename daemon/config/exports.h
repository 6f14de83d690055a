// Exports: the [[export]] tables of profd.toml.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/toml/toml_file.h"
#include "daemon/fleet/profile/settings.h"

namespace profd::config {

// The tables that are right; problems are added with their lines.
[[nodiscard]] std::vector<fleet::ExportSettings> ReadExports(const toml::node& exports,
                                                             TomlProblems& problems);

// The table as text that gives the same settings.
[[nodiscard]] std::string ExportToml(const fleet::ExportSettings& settings);

// A key of [[export]] or of [[export.relabel]], for the manual page and the file that lists all.
struct ExportKey {
  const char* name;
  const char* value;  // an example, as TOML
  const char* help;   // one line, lower case, no final stop
};
[[nodiscard]] const std::vector<ExportKey>& ExportKeys();
[[nodiscard]] const std::vector<ExportKey>& RelabelKeys();

}  // namespace profd::config
