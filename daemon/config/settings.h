// Settings: THE table of what can be set. Flags, environment variables, the configuration file and
// the manual pages all come from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/config/options.h"

namespace profd::config {

// The type of its field determines which kind of value a setting takes.
using Field =
    std::variant<bool Options::*, std::string Options::*, std::uint64_t Options::*,
                 double Options::*, std::chrono::nanoseconds Options::*, Bytes Options::*>;

struct Setting {
  // "history.max_age" is `max_age` of [history] in the file, the flag --history-max-age and the
  // variable PROFD_HISTORY_MAX_AGE. A bool has the flags --NAME and --no-NAME.
  std::string_view key;
  Field field;
  std::string_view fallback = {};              // the default, as it would be written
  std::string_view value = {};                 // the placeholder in help: "ADDRESS"
  std::string_view help = {};                  // one line, lower case, no final stop
  std::vector<std::string_view> choices = {};  // of a text; empty: any text is valid
  std::string_view least = {}, most = {};  // of a number, as they would be written; "": no limit
  Result<void> (*check)(const std::string& text) = nullptr;  // what the fields above cannot express
  bool live = false;                                         // SIGHUP changes it at once
};

[[nodiscard]] const std::vector<Setting>& Settings();
// Null: no setting has this key.
[[nodiscard]] const Setting* FindSetting(std::string_view key);
// The key that the user probably meant; "" where no key is similar.
[[nodiscard]] std::string NearestKey(std::string_view key);

[[nodiscard]] std::string FlagName(const Setting& setting);         // "--log-level"
[[nodiscard]] std::string EnvironmentName(const Setting& setting);  // "PROFD_LOG_LEVEL"

// Checks that settings which need each other are set together, and none that exclude each other.
[[nodiscard]] Result<void> CheckTogether(const Options& options);

// A setting that SIGHUP found changed, as texts.
struct SettingChange {
  const Setting* setting;
  std::string from;
  std::string to;
};
[[nodiscard]] std::vector<SettingChange> Differences(const Options& before, const Options& after);

// --- values: from the text of a flag, a variable or a file to a field of Options, and back

// "1GiB", "500MB", "64K"; a number without a unit is in bytes; K, M, G, T are KiB, MiB, GiB, TiB.
// None: not a size, or 2^63 bytes or more.
[[nodiscard]] std::optional<Bytes> ParseBytes(std::string_view text);

// Checks kind, choices and range. kInvalidArgument: "is 'x'; it must be ...", a message that the
// caller puts after the name.
[[nodiscard]] Result<void> SetValue(const Setting& setting, std::string_view text,
                                    Options& options);
// The value, written in the shortest way.
[[nodiscard]] std::string ValueText(const Setting& setting, const Options& options);
// Which values are valid: "one of debug, info", "a duration such as 10s, from 1s to 10d".
[[nodiscard]] std::string Expected(const Setting& setting);

}  // namespace profd::config
