// ProcessInfo: the facts about a process, without its mappings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/keys.h"

namespace profd::process {

// The user to whom a process belongs.
struct Owner {
  std::optional<std::uint32_t> uid;  // the effective one; nothing: not known
  // The kernel would let the uid trace it (source::ExclusiveOwner). False after an exec, until
  // /proc has been read again.
  bool sole = false;
  std::string user;  // the host's name of the uid; "": it has none
};

// What a process publishes about the labels of its threads. Immutable.
struct LabelKeys {
  std::uint64_t image_ns = 0;      // when the program was executed that did; 0: long ago
  std::vector<std::string> names;  // of attributes, by their numbers
  std::string refused;             // why its labels cannot be read; "": they are
};
using LabelKeysRef = std::shared_ptr<const LabelKeys>;

// What a process says it is: attributes of its OpenTelemetry resource, by name. Immutable.
using ResourceRef = std::shared_ptr<const std::map<std::string, std::string>>;

// Immutable: a change makes a new object. All texts are bounded and hostile: they may have any byte
// but zero.
struct ProcessInfo {
  ProcessKey key;
  std::string comm;          // of the first thread
  std::string parent;        // `comm` of the process that forked it, then; "": not known
  std::string executable;    // path; "": not known
  std::string command_line;  // arguments, separated by spaces; "": not known
  // Path in the hierarchy of version 2, "/system.slice/foo.service"; else in one of version 1.
  std::string cgroup;
  std::vector<std::uint32_t> namespace_pids;  // profd's pid namespace first, then each inner one
  Owner owner;
  // Since when `owner` is what it is; 0: as long as the process is known. What a process did
  // before, for example as root before it executed a user's shell, is not this owner's to see.
  std::uint64_t owned_since_ns = 0;
  LabelKeysRef label_keys = nullptr;  // null: it publishes none, or is not known to
  ResourceRef resource = nullptr;     // null: it says nothing, or is not known to
  bool exited = false;
  std::uint32_t exit_code = 0;
  std::uint64_t exited_ns = 0;
};
using ProcessInfoRef = std::shared_ptr<const ProcessInfo>;

// From texts of /proc.
[[nodiscard]] std::string ParseComm(std::string_view text);
[[nodiscard]] std::string ParseCommandLine(std::string_view text);
[[nodiscard]] std::string ParseCgroup(std::string_view text);
[[nodiscard]] std::vector<std::uint32_t> ParseNamespacePids(std::string_view text);
[[nodiscard]] Owner ParseOwner(std::string_view text);           // PROFD_BLOB_USER
[[nodiscard]] ResourceRef ParseResource(std::string_view text);  // PROFD_BLOB_RESOURCE

}  // namespace profd::process
