#include "daemon/source/probe/hook_levels.h"

#include <algorithm>

namespace profd::source {
namespace {

constexpr std::string_view kFunction = "finish_task_switch";

// The third column of a line of kallsyms: "ffffffff8139a6c0 t name [module]".
std::string_view SymbolOf(std::string_view line) {
  for (int column = 0; column < 2; ++column) {
    const auto space = line.find(' ');
    if (space == std::string_view::npos) return {};
    line.remove_prefix(space + 1);
  }
  return line.substr(0, line.find_first_of("\t "));
}

bool IsWholeFunction(std::string_view symbol) {
  if (!symbol.starts_with(kFunction)) return false;
  const std::string_view suffix = symbol.substr(kFunction.size());
  return suffix.empty() || suffix.starts_with(".isra.") || suffix.starts_with(".constprop.") ||
         suffix.starts_with(".llvm.");
}

}  // namespace

HookLevels MakeHookLevels(bool has_sched_exit_tp,
                          const std::vector<std::string>& finish_task_symbols,
                          std::optional<profd_hook> forced) {
  HookLevels found;
  const auto pass_over = [&](std::string_view reason) {
    if (!found.passed_over.empty()) found.passed_over.append("; ");
    found.passed_over.append(reason);
  };
  const auto wanted = [&](profd_hook hook) { return !forced || *forced == hook; };

  if (!wanted(PROFD_HOOK_SCHED_EXIT)) {
    pass_over("sched_exit_tp: not to be used, as configured");
  } else if (has_sched_exit_tp) {
    found.levels.push_back({PROFD_HOOK_SCHED_EXIT, {}});
  } else {
    pass_over("sched_exit_tp: this kernel has none");
  }
  if (!wanted(PROFD_HOOK_FINISH_TASK)) {
    pass_over("kprobe: not to be used, as configured");
  } else if (!finish_task_symbols.empty()) {
    found.levels.push_back({PROFD_HOOK_FINISH_TASK, finish_task_symbols});
  } else if (found.levels.empty()) {
    pass_over("kprobe: no function finish_task_switch");
  }
  if (wanted(PROFD_HOOK_NONE)) found.levels.push_back({PROFD_HOOK_NONE, {}});
  return found;
}

std::string HookName(std::uint32_t hook) {
  const auto* kind = std::ranges::find(kHookKinds, hook, &HookKind::hook);
  return std::string(kind == kHookKinds.end() ? "unknown" : kind->name);
}

std::string NameOf(const HookLevel& level) {
  if (level.hook != PROFD_HOOK_FINISH_TASK) return HookName(level.hook);
  std::string name = "kprobe";
  for (const std::string& symbol : level.symbols) name.append(" ").append(symbol);
  return name;
}

std::vector<std::string> FinishTaskSymbols(std::string_view kallsyms) {
  std::vector<std::string> symbols;
  while (!kallsyms.empty()) {
    const auto newline = kallsyms.find('\n');
    const std::string_view symbol = SymbolOf(kallsyms.substr(0, newline));
    if (IsWholeFunction(symbol)) symbols.emplace_back(symbol);
    if (newline == std::string_view::npos) break;
    kallsyms.remove_prefix(newline + 1);
  }
  std::ranges::sort(symbols);
  const auto repeated = std::ranges::unique(symbols);
  symbols.erase(repeated.begin(), repeated.end());
  return symbols;
}

}  // namespace profd::source
