// Settings text: what the table of settings reads like in files for people.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config_file.h"
#include "daemon/config/options.h"

namespace profd::config {

// deploy/profd.toml: every key, commented, with its default.
[[nodiscard]] std::string DefaultConfig();
// The section KEYS of profd.toml(5), in roff.
[[nodiscard]] std::string ManualOfKeys();
// The section SETTINGS of profd(8): the flags.
[[nodiscard]] std::string ManualOfFlags();
// The values in force, as a file that would give the same; `values`: the last of a setting won.
[[nodiscard]] std::string EffectiveConfig(const std::vector<Assignment>& values,
                                          const Options& options);

}  // namespace profd::config
