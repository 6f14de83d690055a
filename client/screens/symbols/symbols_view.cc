#include "client/screens/symbols/symbols_view.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "client/screens/summary/summary.h"
#include "client/screens/symbols/module_rows.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kShortBuildId = 12;
constexpr std::size_t kReasons = 3;  // of one module, when not complete
constexpr std::string_view kIndent = "  ";

std::string Hex(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

bool IsFile(const ModuleRow& row) { return row.path.starts_with('/') && !row.kernel; }

std::string NameOf(const ModuleRow& row) {
  if (row.path.empty()) return "[memory without a file]";
  return SafeText(row.path) + (row.program.empty() ? "" : " (" + SafeText(row.program) + ")");
}

std::string SymbolsFrom(const ModuleRow& row) {
  const v1::Module& info = row.info;
  if (info.symbols_from().empty()) return "none";
  return info.symbols_file().empty() ? SafeText(info.symbols_from()) : "debug file";
}

bool LacksSymbols(const ModuleRow& row) {
  return IsFile(row) && !row.info.symbols_missing().empty();
}
bool LacksLines(const ModuleRow& row) {
  return IsFile(row) && !row.info.path().empty() && row.info.debug_file().empty();
}

struct Sums {
  std::uint64_t frames = 0;
  std::uint64_t named = 0;
};

Sums SumOf(const std::vector<ModuleRow>& rows) {
  Sums sums;
  for (const ModuleRow& row : rows) {
    sums.frames += row.frames;
    sums.named += row.named;
  }
  return sums;
}

std::string Header(const v1::Profile& profile, const std::vector<ModuleRow>& rows,
                   const SymbolsOptions& options) {
  const Sums sums = SumOf(rows);
  const std::string text = FormatDuration(profile.end_ns() - profile.start_ns()) + "   " +
                           FormatCount(sums.named) + " of " + FormatCount(sums.frames) +
                           " frames have names";
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

// Breaks at spaces; a word that is too long stands on a line of its own.
std::string Wrapped(std::string_view text, std::string_view first, std::string_view indent,
                    std::size_t width) {
  std::string out(first);
  std::size_t column = DisplayWidth(first);
  bool line_has_words = false;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    if (line_has_words && column + 1 + DisplayWidth(word) > width) {
      out += "\n";
      out += indent;
      column = DisplayWidth(indent);
      line_has_words = false;
    }
    if (std::exchange(line_has_words, true)) {
      out += " ";
      ++column;
    }
    out += word;
    column += DisplayWidth(word);
  }
  return out + "\n";
}

std::string Counted(std::uint64_t count, std::string_view what) {
  return FormatCount(count) + " " + std::string(what) + (count == 1 ? "" : "s");
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
                     deep + Counted(count, "frame") + ": ", deep + deep, options.width);
      if (!options.complete) continue;
      std::string places;
      for (const UnnamedFrame& frame : row.unnamed)
        if (frame.reason == reason) places += (places.empty() ? "" : " ") + Hex(frame.offset);
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
                     std::string(kIndent) + Counted(samples, "sample") + " in ", "      ",
                     options.width);
  return out.empty()
             ? ""
             : "\n" + options.palette.Paint(Tone::kStrong, "stacks that end early") + "\n" + out;
}

// Debug packages of the modules that `lacks` something, those with the most unnamed frames first.
template <typename Lacks>
std::vector<std::string> Packages(const std::vector<ModuleRow>& rows, const SymbolsOptions& options,
                                  const Lacks& lacks) {
  std::vector<std::string> packages;
  for (const ModuleRow& row : rows) {
    if (!lacks(row)) continue;
    const auto known = options.packages.find(row.path);
    if (known == options.packages.end()) continue;
    if (std::ranges::find(packages, known->second) == packages.end())
      packages.push_back(known->second);
  }
  return packages;
}

std::string AptLine(const std::vector<std::string>& packages) {
  std::string line = "apt install";
  for (const std::string& package : packages) line += " " + SafeText(package);
  return line;
}

struct Advice {
  std::vector<std::string> names;  // packages
  std::vector<std::string> lines;  // further ones, for inlined functions and lines alone
  bool lacks_names = false;
  bool lacks_any = false;
};

Advice AdviceOf(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  Advice advice;
  advice.names = Packages(rows, options, LacksSymbols);
  advice.lines = Packages(rows, options, LacksLines);
  std::erase_if(advice.lines, [&](const std::string& package) {
    return std::ranges::find(advice.names, package) != advice.names.end();
  });
  advice.lacks_names = std::ranges::any_of(rows, LacksSymbols);
  advice.lacks_any = advice.lacks_names || std::ranges::any_of(rows, LacksLines);
  return advice;
}

std::string WhatToDo(const std::vector<ModuleRow>& rows, const SymbolsOptions& options) {
  const Advice advice = AdviceOf(rows, options);
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

nlohmann::json RowJson(const ModuleRow& row, const SymbolsOptions& options) {
  nlohmann::json unnamed = nlohmann::json::array();
  for (const UnnamedFrame& frame : row.unnamed)
    unnamed.push_back({{"offset", Hex(frame.offset)}, {"reason", frame.reason}});
  const auto package = options.packages.find(row.path);
  return {{"path", row.path},
          {"build_id", row.info.build_id()},
          {"symbols_from", row.info.symbols_from()},
          {"symbols_file", row.info.symbols_file()},
          {"symbols_missing", row.info.symbols_missing()},
          {"debug_file", row.info.debug_file()},
          {"debug_missing", row.info.debug_missing()},
          {"debug_package", package == options.packages.end() ? "" : package->second},
          {"frames", row.frames},
          {"named", row.named},
          {"with_line", row.with_line},
          {"inlined", row.inlined},
          {"unnamed", unnamed},
          {"stacks_end_early", row.ends}};
}

}  // namespace

std::string RenderSymbols(const v1::Profile& profile, const SymbolsOptions& options) {
  const std::vector<ModuleRow> rows = ModuleRows(profile);
  return Header(profile, rows, options) + "\n" + Modules(rows, options) + Unnamed(rows, options) +
         Ends(rows, options) + (options.complete ? Files(rows, options) : "") +
         WhatToDo(rows, options);
}

std::string SymbolsJson(const v1::Profile& profile, const SymbolsOptions& options) {
  const std::vector<ModuleRow> rows = ModuleRows(profile);
  const Sums sums = SumOf(rows);
  const Advice advice = AdviceOf(rows, options);
  nlohmann::json modules = nlohmann::json::array();
  for (const ModuleRow& row : rows) modules.push_back(RowJson(row, options));
  const nlohmann::json object{{"target", profile.target()},
                              {"start_unix_ns", profile.start_unix_ns()},
                              {"duration_ns", profile.end_ns() - profile.start_ns()},
                              {"frames", sums.frames},
                              {"named", sums.named},
                              {"modules", modules},
                              {"install_for_names", advice.names},
                              {"install_for_lines", advice.lines}};
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::vector<std::string> ModulesToComplete(const v1::Profile& profile) {
  std::vector<std::string> paths;
  for (const ModuleRow& row : ModuleRows(profile))
    if (LacksSymbols(row) || LacksLines(row)) paths.push_back(row.path);
  return paths;
}

}  // namespace profd::client
