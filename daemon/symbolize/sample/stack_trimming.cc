#include "daemon/symbolize/sample/stack_trimming.h"

#include <algorithm>
#include <array>

namespace profd::symbolize {
namespace {

constexpr auto kSwitchNames = std::to_array<std::string_view>({
    "__schedule",
    "do_task_dead",
    "finish_task_switch",
    "schedule_tail",
});

constexpr auto kWaitNames = std::to_array<std::string_view>({
    "__cond_resched",
    "__wait_for_common",
    "__wait_on_bit",
    "__wait_on_bit_lock",
    "_cond_resched",
    "bit_wait",
    "bit_wait_io",
    "do_wait_for_common",
    "dynamic_cond_resched",
    "dynamic_might_resched",
    "dynamic_preempt_schedule",
    "dynamic_preempt_schedule_notrace",
    "io_schedule",
    "io_schedule_timeout",
    "out_of_line_wait_on_bit",
    "out_of_line_wait_on_bit_lock",
    "poll_schedule_timeout",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_notrace",
    "preempt_schedule_notrace_thunk",
    "preempt_schedule_thunk",
    "schedule",
    "schedule_hrtimeout",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "schedule_idle",
    "schedule_preempt_disabled",
    "schedule_rtlock",
    "schedule_timeout",
    "schedule_timeout_idle",
    "schedule_timeout_interruptible",
    "schedule_timeout_killable",
    "schedule_timeout_uninterruptible",
    "wait_for_common",
    "wait_for_common_io",
    "wait_woken",
    "yield",
});

constexpr auto kWakeUpNames = std::to_array<std::string_view>({
    "__traceiter_sched_waking",
    "__wake_up",
    "__wake_up_common",
    "__wake_up_common_lock",
    "__wake_up_locked_key",
    "__wake_up_sync_key",
    "autoremove_wake_function",
    "default_wake_function",
    "ep_autoremove_wake_function",
    "ep_poll_callback",
    "pollwake",
    "try_to_wake_up",
    "ttwu_do_wakeup",
    "wake_up_process",
    "wake_up_q",
    "wake_up_state",
});

constexpr auto kInterruptExitNames = std::to_array<std::string_view>({
    "exit_to_user_mode_loop",
    "exit_to_user_mode_prepare",
    "irqentry_exit",
    "irqentry_exit_cond_resched",
    "irqentry_exit_to_user_mode",
    "preempt_schedule_irq",
    "raw_irqentry_exit_cond_resched",
    "syscall_exit_to_user_mode",
});

constexpr auto kInterruptEntryPrefixes = std::to_array<std::string_view>({
    "asm_common_interrupt",
    "asm_exc_",
    "asm_sysvec_",
    "common_interrupt",
    "exc_",
    "sysvec_",
});

// BPF program, trampoline and tracepoint are fewer than this on every kernel.
constexpr std::size_t kTracingFrames = 16;

static_assert(std::ranges::is_sorted(kSwitchNames));
static_assert(std::ranges::is_sorted(kWaitNames));
static_assert(std::ranges::is_sorted(kWakeUpNames));
static_assert(std::ranges::is_sorted(kInterruptExitNames));

}  // namespace

KernelRole RoleOf(std::string_view name) {
  name = name.substr(0, name.find('.'));
  if (std::ranges::binary_search(kSwitchNames, name)) return KernelRole::kSwitch;
  if (std::ranges::binary_search(kWaitNames, name)) return KernelRole::kWait;
  if (std::ranges::binary_search(kWakeUpNames, name)) return KernelRole::kWakeUp;
  if (std::ranges::binary_search(kInterruptExitNames, name)) return KernelRole::kInterruptExit;
  const bool entry = std::ranges::any_of(kInterruptEntryPrefixes, [name](std::string_view prefix) {
    return name.starts_with(prefix);
  });
  return entry ? KernelRole::kInterruptEntry : KernelRole::kOther;
}

std::size_t WakeUpFramesToTrim(std::span<const KernelRole> roles) {
  const auto near_leaf = roles.first(std::min(roles.size(), kTracingFrames));
  const auto found = std::ranges::find(near_leaf, KernelRole::kWakeUp);
  if (found == near_leaf.end()) return 0;
  const auto who = std::find_if(roles.begin() + (found - near_leaf.begin()), roles.end(),
                                [](KernelRole role) { return role != KernelRole::kWakeUp; });
  return static_cast<std::size_t>(who - roles.begin());
}

std::size_t FramesToTrim(std::span<const KernelRole> roles) {
  const auto near_leaf = roles.first(std::min(roles.size(), kTracingFrames));
  const auto found = std::ranges::find(near_leaf, KernelRole::kSwitch);
  if (found == near_leaf.end()) return 0;
  auto trimmed = static_cast<std::size_t>(found - near_leaf.begin());
  bool interrupted = false;
  for (; trimmed < roles.size(); ++trimmed) {
    const KernelRole role = roles[trimmed];
    if (role == KernelRole::kOther) break;
    if (role == KernelRole::kInterruptEntry && !interrupted) break;
    interrupted = interrupted || role == KernelRole::kInterruptExit;
  }
  return trimmed;
}

}  // namespace profd::symbolize
