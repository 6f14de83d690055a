// Settings: THE table of what can be set: flags, environment, configuration file, its default text
// and its manual page all come from it.
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

// Which kind of value a setting takes follows from the type of its field.
using Field =
    std::variant<bool Options::*, std::string Options::*, std::uint64_t Options::*,
                 double Options::*, std::chrono::nanoseconds Options::*, Bytes Options::*>;

struct Setting {
  // "history.max_age" is `max_age` of [history] in the file, --history-max-age and
  // PROFD_HISTORY_MAX_AGE. A bool has --NAME and --no-NAME.
  std::string_view key;
  Field field;
  std::string_view fallback = {};              // the default, as it would be written
  std::string_view value = {};                 // what help calls a value: "ADDRESS"
  std::string_view help = {};                  // one line, lower case, no final stop
  std::vector<std::string_view> choices = {};  // of a text; none: any
  std::string_view least = {}, most = {};      // of a number, as they would be written; "": any
  Result<void> (*check)(const std::string& text) = nullptr;  // more than the above can say
  bool live = false;                                         // SIGHUP changes it at once
};

[[nodiscard]] const std::vector<Setting>& Settings();
// Null: there is none of this key.
[[nodiscard]] const Setting* FindSetting(std::string_view key);
// The key that was probably meant, "" where none is near.
[[nodiscard]] std::string NearestKey(std::string_view key);

[[nodiscard]] std::string FlagName(const Setting& setting);         // "--log-level"
[[nodiscard]] std::string EnvironmentName(const Setting& setting);  // "PROFD_LOG_LEVEL"

// What no setting can say for itself: which go together.
[[nodiscard]] Result<void> CheckTogether(const Options& options);

// A setting that SIGHUP found changed, as texts.
struct SettingChange {
  const Setting* setting;
  std::string from;
  std::string to;
};
[[nodiscard]] std::vector<SettingChange> Differences(const Options& before, const Options& after);

// --- values: from the text of a flag, a variable or a file to a field of Options, and back

// "10s", "500ms", "7d"; a bare number is seconds. None: not a duration.
[[nodiscard]] std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);
// "1GiB", "500MB", "64K"; a bare number is bytes; K, M, G, T are KiB, MiB, GiB, TiB.
[[nodiscard]] std::optional<Bytes> ParseBytes(std::string_view text);

// Checks kind, choices and range. kInvalidArgument: "is 'x'; it must be ...", to follow its name.
[[nodiscard]] Result<void> SetValue(const Setting& setting, std::string_view text,
                                    Options& options);
// The value in the shortest of the ways in which it can be written.
[[nodiscard]] std::string ValueText(const Setting& setting, const Options& options);
// What it may be: "one of debug, info", "a duration such as 10s, from 1s to 10d".
[[nodiscard]] std::string Expected(const Setting& setting);

}  // namespace profd::config
