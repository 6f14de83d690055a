#include "daemon/config/options.h"

namespace profd::config {

std::string HistoryDirectory(const Options& options, const char* state_directory) {
  // A private profd serves one command: a history would have no reader.
  if (options.private_use || options.history_directory == "off") return "";
  if (options.history_directory != "auto") return options.history_directory;
  const std::string directories = state_directory == nullptr ? "" : state_directory;
  return directories.substr(0, directories.find(':'));  // the first one that the unit names
}

std::optional<profd_hook> ForcedHook(const Options& options) {
  if (options.hook == "sched_exit_tp") return PROFD_HOOK_SCHED_EXIT;
  if (options.hook == "kprobe") return PROFD_HOOK_FINISH_TASK;
  if (options.hook == "switch-out") return PROFD_HOOK_SWITCH_OUT;
  return std::nullopt;
}

}  // namespace profd::config
