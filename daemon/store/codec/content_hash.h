// ContentHash: hashes by which the store recognizes equal content, and detects damaged content.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/aggregate/profile.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::store {

// 128 bits of XXH3 over all fields with their lengths. The store treats equal hashes as equal
// content.
using Hash128 = std::array<std::byte, 16>;

[[nodiscard]] Hash128 ContentHash(const aggregate::ProfileProcess& process);
// The fields that processes may share: command line, file, cgroup, owner, interpreter.
[[nodiscard]] Hash128 ProgramHash(const aggregate::ProfileProcess& process);
// Key, shown tid and comm: the fields that stay the same from window to window.
[[nodiscard]] Hash128 ContentHash(const aggregate::ProfileThread& thread);
[[nodiscard]] Hash128 ContentHash(const symbolize::Frame& frame);
// The module of a frame, with its build id and where its names are from.
[[nodiscard]] Hash128 ModuleHash(const symbolize::Frame& frame);
// Target, host, kernel, hook, version.
[[nodiscard]] Hash128 HostHash(const aggregate::Profile& profile);

}  // namespace profd::store
