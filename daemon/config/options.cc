#include "daemon/config/options.h"

#include <sys/utsname.h>

#include <algorithm>

#include "daemon/source/probe/hook_levels.h"

namespace profd::config {

std::string HistoryDirectory(const Options& options, const char* state_directory) {
  // A private profd serves one command: a history would have no reader.
  if (options.private_use || options.history_directory == "off") return "";
  if (options.history_directory != "auto") return options.history_directory;
  const std::string directories = state_directory == nullptr ? "" : state_directory;
  return directories.substr(0, directories.find(':'));  // the first one that the unit names
}

std::string HostName(const Options& options) {
  if (options.host_name != "auto") return options.host_name;
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

std::optional<profd_hook> ForcedHook(const Options& options) {
  const auto* kind = std::ranges::find(source::kHookKinds, options.hook, &source::HookKind::option);
  return kind == source::kHookKinds.end() ? std::nullopt : std::optional(kind->hook);
}

}  // namespace profd::config
