#include "daemon/config/options.h"

#include <sys/utsname.h>

#include <algorithm>

#include "daemon/base/utf8.h"
#include "daemon/source/probe/hook_levels.h"

namespace profd::config {
namespace {

// Of the folders that a unit names.
std::string FirstOf(const std::string& directories) {
  return directories.substr(0, directories.find(':'));
}

}  // namespace

std::string HistoryDirectory(const Options& options, const char* state_directory) {
  // A private profd serves one command: a history would have no reader.
  if (options.private_use || options.history_directory == "off") return "";
  if (options.history_directory != "auto") return options.history_directory;
  return state_directory == nullptr ? "" : FirstOf(state_directory);
}

std::string CacheDirectory(const Options& options, const char* cache_directory, bool is_root) {
  if (options.cache_directory == "off") return "";
  if (options.cache_directory != "auto") return options.cache_directory;
  if (cache_directory != nullptr) return FirstOf(cache_directory);
  return is_root ? "/var/cache/profd" : "";
}

std::string HostName(const Options& options) {
  if (options.host_name != "auto") return options.host_name;
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

std::vector<std::string> ListOf(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = Trimmed(text.substr(0, comma), " ");
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (!part.empty()) list.emplace_back(part);
  }
  return list;
}

std::vector<std::string> ContainerSockets(const Options& options) {
  if (options.containers_sockets == "off") return {};
  if (options.containers_sockets != "auto") return ListOf(options.containers_sockets);
  return {"/run/containerd/containerd.sock", "/run/crio/crio.sock",
          "/run/k3s/containerd/containerd.sock", "/run/cri-dockerd.sock"};
}

std::optional<profd_hook> ForcedHook(const Options& options) {
  const auto* kind = std::ranges::find(source::kHookKinds, options.hook, &source::HookKind::option);
  return kind == source::kHookKinds.end() ? std::nullopt : std::optional(kind->hook);
}

}  // namespace profd::config
