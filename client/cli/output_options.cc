#include "client/cli/output_options.h"

#include <algorithm>
#include <utility>

#include "client/cli/values.h"
#include "client/fleet/fleet_question.h"
#include "client/format/exporter.h"

namespace profd::client {
namespace {

constexpr std::string_view kOnWhomSteps = "steps";
constexpr std::string_view kOnWhomStacks = "stacks";

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Exporter& exporter : Exporters()) names.emplace_back(exporter.name);
  names.emplace_back(kSummaryFormat);
  return names;
}

}  // namespace

void AddNames(Command& command, NameOptions& names) {
  command.Add({.group = kOutputGroup,
               .names = "--signatures",
               .into = &names.signatures,
               .help = "native names with their parameters"});
  command.Add({.group = kOutputGroup,
               .names = "--no-demangle",
               .into = &names.mangled,
               .help = "C++ and Rust names as the files have them"});
  command.Add({.group = kOutputGroup,
               .names = "--interpreter-frames",
               .into = &names.interpreter_frames,
               .help = "show the native frames of Python interpreters, too",
               .more = "Without it a stack shows the Python frames in their place."});
}

void AddOutputFiles(Command& command, std::vector<std::string>& files, const std::string& help) {
  command.Add({.group = kOutputGroup,
               .names = "-o,--output",
               .into = &files,
               .value = "FILE",
               .help = help,
               .more = "A file appears whole or not at all.",
               .offer = Offer::kFiles});
}

void AddFormat(Command& command, std::string& format, const std::vector<std::string>& names,
               const std::string& more) {
  command.Add({.group = kOutputGroup,
               .names = "-f,--format",
               .into = &format,
               .value = "FORMAT",
               .help = "the format of standard output and of files whose names do not say it: " +
                       OneOf(names),
               .more = more,
               .words = names});
}

void AddOutput(Command& command, OutputOptions& output) {
  AddOutputFiles(command, output.files,
                 "write to FILE, in the format of its extension; may be given again for more "
                 "files; - is standard output");
  AddFormat(command, output.format, FormatNames());
  command.Add({.group = kOutputGroup,
               .names = "--threads",
               .into = &output.threads,
               .help = "keep threads apart (folded, svg), and alike processes (svg)"});
  AddNames(command, output.names);
  AddOnWhom(command, output.on_whom);
  command.Add({.group = kOutputGroup,
               .names = "--gil",
               .into = &output.gil,
               .help = "only the time in which a thread of Python holds the GIL, running or not",
               .more = "This is what keeps its other threads from running Python. Samples for "
                       "which that is unknown are left out and counted in a note. If no time "
                       "is left, the error says why: there is no interpreter of CPython, or it is "
                       "not supported."});
  AddFilter(command, kOutputGroup, output.filter);
}

void AddFilter(Command& command, std::string_view group, std::string& text) {
  command.Add(
      {.group = group,
       .names = "--filter",
       .into = &text,
       .value = "EXPR",
       .help = "only samples that fit: function, module, file, thread, process, operator, "
               "phase, state, wait, time, step or label:NAME, then =, != or ~, then a value; and, "
               "or, not, ( )",
       .more =
           "A sample has a function, module or file if any frame of its stack has. ~ "
           "is a regular expression of RE2 that fits a part of the text. time = 2..5 "
           "takes the samples that begin there, in seconds since the start; step = 3..5 those of "
           "all threads in these steps, as report --steps has them. Samples of the history have no "
           "times."});
}

void AddOnWhom(Command& command, std::string& text) {
  command.Add({.group = kOutputGroup,
               .names = "--on-whom",
               .into = &text,
               .value = std::string(kOnWhomStacks),
               .implied = std::string(kOnWhomSteps),
               .help = "behind the state of a blocked stack, who is waited for, and on whom these "
                       "wait (folded, svg, speedscope); with =stacks their stacks, too",
               .more = "After [blocked:lock] come a frame --, a frame [waits for NAME] for each "
                       "thread, and how it ends: [runs], [no CPU], [timer], [disk], [net], "
                       "[still waits] ... No time changes. [runs ~] stands behind a stack that is "
                       "an estimate."});
}

Result<PathDetail> ParseOnWhom(const std::string& text) {
  if (text.empty()) return PathDetail::kNone;
  if (text == kOnWhomSteps) return PathDetail::kSteps;
  if (text == kOnWhomStacks) return PathDetail::kStacks;
  return Usage("--on-whom=" + text + ": there is no such detail",
               "write --on-whom, or --on-whom=stacks");
}

void AddGroupBy(Command& command, std::string& text, const std::string& help) {
  std::vector<std::string> names;
  for (const GroupKey key :
       {GroupKey::kProcess, GroupKey::kThread, GroupKey::kComm, GroupKey::kUnit,
        GroupKey::kContainer, GroupKey::kUser, GroupKey::kCgroup, GroupKey::kService,
        GroupKey::kPod, GroupKey::kNamespace, GroupKey::kHost})
    names.emplace_back(NameOf(key));
  std::vector<std::string> of_fleets;
  for (const FleetKeyEntry& entry : kFleetKeys)
    if (std::ranges::find(names, entry.name) == names.end()) of_fleets.emplace_back(entry.name);
  std::vector<std::string> words = names;
  words.insert(words.end(), of_fleets.begin(), of_fleets.end());
  command.Add({.group = kOutputGroup,
               .names = "--group-by,--by",
               .into = &text,
               .value = "WHAT",
               .help = help + ": " + OneOf(names) + "; of a fleet " + OneOf(of_fleets) +
                       ", unit, container or thread",
               .words = words});
}

Result<std::optional<GroupKey>> ParseGroupBy(const std::string& text) {
  if (text.empty()) return std::optional<GroupKey>();
  const auto key = ParseGroupKey(text);
  if (!key) return key.error();
  return std::optional(*key);
}

void AddPlaces(Command& command, std::string_view group, RawPlaces& raw) {
  command.Add({.group = group,
               .names = "--no-inlines",
               .into = &raw.no_inlines,
               .help = "no frames of inlined functions; they are shown where debug information is "
                       "on the host"});
  command.Add({.group = group,
               .names = "--no-lines",
               .into = &raw.no_lines,
               .help = "no source files and lines; they are shown where debug information is on "
                       "the host",
               .more = "With both options no debug information is read."});
}

void AddJson(Command& command, bool& json, const std::string& help) {
  command.Add({.group = kOutputGroup, .names = "--json", .into = &json, .help = help});
}

void AddNoProgress(Command& command, bool& no_progress) {
  command.Add({.group = kOtherGroup,
               .names = "--no-progress",
               .into = &no_progress,
               .help = "no progress line"});
}

void AddNative(Command& command, std::string_view group) {
  command.Add({.group = group,
               .names = "--native",
               .into = static_cast<bool*>(nullptr),
               .help = "accepted, as py-spy has it; native frames are always there"});
}

}  // namespace profd::client
