#include "client/screens/symbols/symbols_view.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/screens/summary/summary.h"
#include "client/screens/symbols/module_rows.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::size_t kShortBuildId = 12;
constexpr std::size_t kReasons = 3;  // of one module, when not complete
constexpr std::string_view kIndent = "  ";

std::string NameOf(const ModuleRow& row) {
  if (row.path.empty()) return "[memory without a file]";
  return SafeText(row.path) + (row.program.empty() ? "" : " (" + SafeText(row.program) + ")");
}

std::string SymbolsFrom(const ModuleRow& row) {
  const v1::Module& info = row.info;
  if (info.symbols_from().empty()) return "none";
  return info.symbols_file().empty() ? SafeText(info.symbols_from()) : "debug file";
}

std::string Header(const v1::Profile& profile, const std::vector<ModuleRow>& rows,
                   const SymbolsOptions& options) {
  const ModuleSums sums = SumOf(rows);
  const std::string text = FormatDuration(LengthNs(profile)) + "   " + FormatCount(sums.named) +
                           " of " + FormatCount(sums.frames) + " frames have names";
  const std::string title = ProfileTitle(profile);
  const std::size_t room = options.width > text.size() + 3 ? options.width - text.size() - 3 : 0;
  return options.palette.Paint(Tone::kStrong, CutMiddle(title, std::max<std::size_t>(room, 20))) +
         "   " + text + "\n";
}

std::string Modules(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  Table table({{"module", Align::kLeft, Shrink::kMiddle, Tone::kPlain},
               {"frames", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"named", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"lines", Align::kRight, Shrink::kNever, Tone::kPlain},
               {"symbols from", Align::kLeft, Shrink::kNever, Tone::kPlain},
               {"build id", Align::kLeft, Shrink::kNever, Tone::kFaint}});
  for (const ModuleRow& row : rows) {
    const std::string build_id = SafeText(row.info.build_id());
    table.AddRow({NameOf(row), FormatCount(row.frames), FormatCount(row.named),
                  row.kernel ? "" : FormatCount(row.with_line), SymbolsFrom(row),
                  build_id.substr(0, kShortBuildId)});
  }
  return table.Render(options.width, options.palette);
}

// Breaks at spaces. The first line begins with `first`, the others with `indent`.
std::string Wrapped(std::string_view text, std::string_view first, std::string_view indent,
                    std::size_t width) {
  const auto room = [&](std::string_view start) {
    return width - std::min(width, DisplayWidth(start));
  };
  std::string out;
  for (const std::string& line : WrapWords(text, room(first), room(indent)))
    out.append(out.empty() ? first : indent).append(line).append("\n");
  return out;
}

std::string Unnamed(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  std::string out;
  const std::string deep = std::string(kIndent) + std::string(kIndent);
  for (const ModuleRow& row : rows) {
    if (row.unnamed.empty()) continue;
    out += std::string(kIndent) + CutMiddle(NameOf(row), options.width - kIndent.size()) + "\n";
    const auto reasons = ReasonsOf(row);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (!options.complete && i == kReasons) {
        out += deep + FormatCount(reasons.size() - i) + " more reasons: -v\n";
        break;
      }
      const auto& [reason, count] = reasons[i];
      const std::string text = SafeText(reason);
      out += Wrapped(options.complete ? text : CutList(text, 2 * options.width),
                     deep + FormatCount(count, "frame") + ": ", deep + deep, options.width);
      if (!options.complete) continue;
      std::string places;
      for (const UnnamedFrame& frame : row.unnamed)
        if (frame.reason == reason) places += (places.empty() ? "" : " ") + HexNumber(frame.offset);
      out += Wrapped(places, deep + deep + "at ", deep + deep, options.width);
    }
  }
  return out.empty() ? ""
                     : "\n" + options.palette.Paint(Tone::kStrong, "without a name") + "\n" + out;
}

// Of each file all that is known: the full build id, and the files that more was looked for in.
std::string Files(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  std::string out;
  const std::string deep = std::string(kIndent) + std::string(kIndent);
  const auto add = [&](std::string_view what, const std::string& text) {
    if (!text.empty())
      out += Wrapped(SafeText(text), deep + std::string(what), deep + deep, options.width);
  };
  for (const ModuleRow& row : rows) {
    if (row.info.path().empty()) continue;
    out += std::string(kIndent) + CutMiddle(NameOf(row), options.width - kIndent.size()) + "\n";
    add("build id  ", row.info.build_id());
    add("symbols   ", row.info.symbols_file());
    add("lines     ", row.info.debug_file());
    add("no lines  ", row.info.debug_missing());
  }
  return out.empty() ? "" : "\n" + options.palette.Paint(Tone::kStrong, "files") + "\n" + out;
}

std::string Ends(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  std::string out;
  for (const ModuleRow& row : rows)
    for (const auto& [why, samples] : row.ends)
      out += Wrapped(NameOf(row) + ": " + SafeText(why),
                     std::string(kIndent) + FormatCount(samples, "sample") + " in ", "      ",
                     options.width);
  return out.empty()
             ? ""
             : "\n" + options.palette.Paint(Tone::kStrong, "stacks that end early") + "\n" + out;
}

// Code without unwind information: how much of it has rules, and why the rest has none.
std::string Code(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  std::string out;
  const std::string deep = std::string(kIndent) + std::string(kIndent);
  for (const ModuleRow& row : rows) {
    const std::uint64_t covered = row.info.code_covered_bytes();
    const std::uint64_t all = covered + row.info.code_bare_bytes();
    if (all == 0) continue;
    out += Wrapped(NameOf(row) + ": " + FormatShare(ShareOf(covered, all)) + " of " +
                       FormatBytes(all) + " has rules made from the code",
                   kIndent, deep, options.width);
    if (row.info.code_bare_bytes() > 0 && row.info.code_refused().empty())
      out += Wrapped("no symbol, call or relocation leads to the rest", deep, deep, options.width);
    for (const v1::NamedCount& reason : row.info.code_refused())
      out += Wrapped(SafeText(reason.text()), deep + FormatCount(reason.count(), "function") + ": ",
                     deep + deep, options.width);
  }
  return out.empty()
             ? ""
             : "\n" +
                   options.palette.Paint(Tone::kStrong,
                                         "code without unwind information, where programs ran") +
                   "\n" + out;
}

std::string AptLine(const std::vector<std::string>& packages) {
  std::string line = "apt install";
  for (const std::string& package : packages) line += " " + SafeText(package);
  return line;
}

std::string WhatToDo(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  const SymbolAdvice advice = AdviceOf(rows, options.packages);
  if (!advice.lacks_any) return "";
  std::string out = "\n" + options.palette.Paint(Tone::kStrong, "what to install") + "\n";
  const auto add = [&](std::string_view what, const std::vector<std::string>& packages) {
    if (!packages.empty())
      out += Wrapped(AptLine(packages), std::string(kIndent) + std::string(what), "        ",
                     options.width);
  };
  add("for names:  ", advice.names);
  add("for inlined functions and lines:  ", advice.lines);
  const bool from_archive = std::ranges::any_of(
      advice.names, [](const std::string& package) { return package.ends_with("-dbgsym"); });
  const bool any_package = !advice.names.empty() || !advice.lines.empty();
  std::string rest = any_package ? "or set" : "set";
  rest += " DEBUGINFOD_URLS in the environment of profd: it fetches debug files by build id";
  if (from_archive)
    out +=
        std::string(kIndent) + "(-dbgsym packages are in an archive of their own, debian-debug)\n";
  return out + Wrapped(rest, kIndent, kIndent, options.width);
}

std::string WhatToStart(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  if (!AdviceOf(rows, options.packages).lacks_map) return "";
  constexpr std::string_view kHow =
      "the program has to list it: oneDNN (in PyTorch, TensorFlow) with ONEDNN_JIT_PROFILE=2 in "
      "its "
      "environment, CPython with PYTHONPERFSUPPORT=1, node with --perf-basic-prof";
  return "\n" + options.palette.Paint(Tone::kStrong, "for names of code made at run time") + "\n" +
         Wrapped(kHow, kIndent, kIndent, options.width);
}

}  // namespace

std::string RenderSymbols(const v1::Profile& profile, const SymbolsOptions& options) {
  const std::vector<ModuleRow> rows = ModuleRows(profile);
  return Header(profile, rows, options) + "\n" + Modules(rows, options) + Unnamed(rows, options) +
         Ends(rows, options) + Code(rows, options) +
         (options.complete ? Files(rows, options) : "") + WhatToDo(rows, options) +
         WhatToStart(rows, options);
}

}  // namespace profd::client
