// ProcessInfo: what is known of a process beside its mappings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/keys.h"

namespace profd::process {

// Whose a process is.
struct Owner {
  std::optional<std::uint32_t> uid;  // the effective one; nothing when not known
  // Wholly the uid's (source::ExclusiveOwner). False while /proc has not been asked about a new
  // program.
  bool sole = false;
  std::string user;  // what the host calls the uid; "" when it does not
};

// Immutable; a change makes a new one. All texts are bounded and hostile: they may hold any byte
// but zero.
struct ProcessInfo {
  ProcessKey key;
  std::string comm;          // of the first thread
  std::string executable;    // path; "" when not known
  std::string command_line;  // arguments, separated by spaces; "" when not known
  std::string cgroup;        // path in the v2 hierarchy, "/system.slice/foo.service"
  std::vector<std::uint32_t> namespace_pids;  // profd's pid namespace first, then each inner one
  Owner owner;
  bool exited = false;
  std::uint32_t exit_code = 0;
  std::uint64_t exited_ns = 0;
};
using ProcessInfoRef = std::shared_ptr<const ProcessInfo>;

// From what /proc says.
[[nodiscard]] std::string ParseComm(std::string_view text);
[[nodiscard]] std::string ParseCommandLine(std::string_view text);
[[nodiscard]] std::string ParseCgroup(std::string_view text);
[[nodiscard]] std::vector<std::uint32_t> ParseNamespacePids(std::string_view text);
[[nodiscard]] Owner ParseOwner(std::string_view text);  // PROFD_BLOB_USER

}  // namespace profd::process
