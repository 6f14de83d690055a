#include "daemon/options.h"

namespace profd {

std::optional<profd_hook> ForcedHook(const Options& options) {
  if (options.hook == "sched_exit_tp") return PROFD_HOOK_SCHED_EXIT;
  if (options.hook == "kprobe") return PROFD_HOOK_FINISH_TASK;
  if (options.hook == "switch-out") return PROFD_HOOK_SWITCH_OUT;
  return std::nullopt;
}

}  // namespace profd
