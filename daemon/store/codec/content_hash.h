// ContentHash: hashes by which the store recognizes equal content, and detects damaged content.
#pragma once

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/stable_hash.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::store {

// Of all fields. The store treats equal hashes as equal content.

[[nodiscard]] Hash128 ContentHash(const aggregate::ProfileProcess& process);
// The fields that processes may share: command line, file, cgroup, owner, interpreter,
// labels.
[[nodiscard]] Hash128 ProgramHash(const aggregate::ProfileProcess& process);
// Key, shown tid and comm: the fields that stay the same from window to window.
[[nodiscard]] Hash128 ContentHash(const aggregate::ProfileThread& thread);
[[nodiscard]] Hash128 ContentHash(const symbolize::Frame& frame);
// The module of a frame, with its build id and where its names are from.
[[nodiscard]] Hash128 ModuleHash(const symbolize::Frame& frame);
// Target, host, kernel, hook, version.
[[nodiscard]] Hash128 HostHash(const aggregate::Profile& profile);

}  // namespace profd::store
