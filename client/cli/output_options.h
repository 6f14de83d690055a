// Where a profile goes, how it is written, and how its names look.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/command_model.h"
#include "client/profile/grouping.h"
#include "daemon/base/result.h"

namespace profd::client {

// What a summary and a terminal show of a profile.
enum class Report { kSummary, kSymbols, kSymbolsJson, kList, kListJson };

struct NameOptions {
  bool signatures = false;
  bool mangled = false;
  bool interpreter_frames = false;
};

struct OutputOptions {
  std::vector<std::string> files;    // "-" is stdout; empty: stdout, as fits what it is
  std::string format;                // empty: by the file name
  Report report = Report::kSummary;  // the others take the place of every format
  bool threads = false;
  NameOptions names;
  bool gil = false;                  // only time with the GIL held
  std::optional<GroupKey> group_by;  // none: by process, and the summary by thread
};

// The parser fills them as they are: what a format or a file name means is decided when they are
// written.
void AddNames(Command& command, NameOptions& names);
// -o, -f, --threads, AddNames, --gil.
void AddOutput(Command& command, OutputOptions& output);
// -o, as AddOutput has it.
void AddOutputFiles(Command& command, std::vector<std::string>& files, const std::string& help);

void AddGroupBy(Command& command, std::string& text, const std::string& help);
// Empty: none.
[[nodiscard]] Result<std::optional<GroupKey>> ParseGroupBy(const std::string& text);

// --no-inlines and --no-lines.
struct RawPlaces {
  bool no_inlines = false;
  bool no_lines = false;
};
void AddPlaces(Command& command, std::string_view group, RawPlaces& raw);
void AddJson(Command& command, bool& json, const std::string& help);
void AddNoProgress(Command& command, bool& no_progress);
// --native, which users of py-spy type for what is so in any case. Nothing reads it.
void AddNative(Command& command, std::string_view group);

}  // namespace profd::client
