// Exporter: a finished profile in, the bytes of one file format out. The table of all formats.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/options.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A format. --help, `profctl formats`, the completions and the manual page are made from these.
struct Exporter {
  std::string_view name;  // lower case: its source is NAME.cc, `_` for `-`
  // With the dot, the usual one first; compared without case.
  std::vector<std::string_view> extensions;
  std::string_view about;     // what it is: "a line per stack"
  std::string_view viewers;   // what opens it: "flamegraph.pl, grep"
  bool for_terminals = true;  // text that a terminal can show
  bool complete = false;      // it keeps everything: profiles are written to it as they came
  // Pure: the same profile and options give the same bytes. May be called from any thread. The
  // profile may come from a file: every format checks it (check_profile.h) before it writes a byte,
  // so a failed call has written nothing unless the stream itself failed. kCorrupt, kExhausted: the
  // profile; kIo: the stream.
  Result<void> (*write)(const v1::Profile& profile, const ExportOptions& options,
                        std::ostream& out);
};

// All formats, in the order of the list in CMakeLists.txt. Immutable.
[[nodiscard]] std::span<const Exporter> Exporters();
// kInvalidArgument, and the names there are, when there is none.
[[nodiscard]] Result<const Exporter*> ExporterByName(std::string_view name);
// By the longest extension that fits: "x.speedscope.json" is speedscope, "x.json" is json.
[[nodiscard]] Result<const Exporter*> ExporterByFileName(std::string_view path);

// Not a format of a file, but it may be named as one: the tables that a terminal gets.
inline constexpr std::string_view kSummaryFormat = "summary";

// What every `write` ends with: kIo when the stream has failed.
[[nodiscard]] Result<void> FinishStream(std::ostream& out);

}  // namespace profd::client
