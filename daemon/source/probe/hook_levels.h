// HookLevels: where the switch-in is captured, best level first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared/control.h"
#include "daemon/base/result.h"

namespace profd::source {

// A kind of hook. No other place has the names of hooks.
struct HookKind {
  profd_hook hook;
  std::string_view option;  // value of the setting `hook`
  std::string_view name;    // in status, recordings and profiles
};
inline constexpr std::array<HookKind, 3> kHookKinds{
    {{PROFD_HOOK_SCHED_EXIT, "sched_exit_tp", "sched_exit_tp"},
     {PROFD_HOOK_FINISH_TASK, "kprobe", "kprobe finish_task_switch"},
     {PROFD_HOOK_NONE, "none", "none (snapshots)"}}};

// One way to capture the switch-in, and what it hooks to. NONE: all sessions are in snapshot mode.
struct HookLevel {
  profd_hook hook = PROFD_HOOK_SCHED_EXIT;
  std::vector<std::string> symbols;  // FINISH_TASK: the kernel functions
};

struct HookLevels {
  std::vector<HookLevel> levels;  // to be tried in this order
  std::string passed_over;  // why better levels are not among them: "no sched_exit_tp"; or empty
};

// `forced` leaves only that level (tests on kernels that have better ones).
[[nodiscard]] HookLevels MakeHookLevels(bool has_sched_exit_tp,
                                        const std::vector<std::string>& finish_task_symbols,
                                        std::optional<profd_hook> forced);

// "sched_exit_tp", "kprobe finish_task_switch.isra.0", "none (snapshots)".
[[nodiscard]] std::string NameOf(const HookLevel& level);

// Of an enum profd_hook, as a recording has it; "unknown" for any other number.
[[nodiscard]] std::string HookName(std::uint32_t hook);

// What the kernel's compiler made of finish_task_switch, of the text of /proc/kallsyms: the
// function itself and its clones, not pieces split off from it (".cold", ".part.0"), which run in
// addition to it.
[[nodiscard]] std::vector<std::string> FinishTaskSymbols(std::string_view kallsyms);

}  // namespace profd::source
