#include "client/cli/diff_values.h"

#include <string>
#include <utility>

#include "client/cli/history_values.h"
#include "client/cli/target_values.h"

namespace profd::client {
namespace {

Result<DiffInput> ParseSide(const RawOptions& raw, const std::string& word,
                            const std::string& filter, std::uint64_t now_unix_ns) {
  Result<std::optional<HistoryQuestion>> question = ParseRange(raw, word, now_unix_ns);
  if (!question) return question.error();
  return DiffInput{word, *std::move(question), filter};
}

}  // namespace

Result<DiffCommandOptions> ParseDiff(const RawOptions& raw, std::uint64_t now_unix_ns) {
  const std::string form = "as in profctl diff before.json after.json, or profctl diff 2h..1h 1h..";
  const auto& sides = raw.diff_sides;
  if (sides.size() < 2)
    return Usage(sides.empty() ? "nothing to compare is named" : "only one side is named", form);
  if (sides.size() > 2) return Usage("more than two sides are named", form);
  if (sides[0] == "-" && sides[1] == "-") return Usage("both sides are standard input", form);
  DiffCommandOptions options;
  Result<DiffInput> a = ParseSide(raw, sides[0], raw.diff_filter_a, now_unix_ns);
  if (!a) return a.error();
  Result<DiffInput> b = ParseSide(raw, sides[1], raw.diff_filter_b, now_unix_ns);
  if (!b) return b.error();
  options.a = *std::move(a);
  options.b = *std::move(b);
  const std::string filter = FirstFilter(raw);
  if (!filter.empty() && !options.a.history && !options.b.history)
    return Usage(filter + " is for the history, and both sides are files",
                 "--filter-a and --filter-b take a part of a file; a range is written 2h..1h");
  options.files = raw.diff_output.files;
  options.format = raw.diff_output.format;
  options.absolute = raw.diff_absolute;
  options.threads = raw.diff_output.threads;
  options.signatures = raw.diff_output.signatures;
  options.mangled = raw.diff_output.mangled;
  options.interpreter_frames = raw.diff_output.interpreter_frames;
  return options;
}

}  // namespace profd::client
