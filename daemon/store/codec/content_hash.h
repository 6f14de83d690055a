// ContentHash: what the store knows equal content by, and damaged content.
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

// 128 bits of XXH3 over all fields with their lengths. Equal hashes are taken for equal content.
using Hash128 = std::array<std::byte, 16>;

[[nodiscard]] Hash128 HashOf(const aggregate::ProfileProcess& process);
// What of it processes may share: command line, file, place, owner, interpreter.
[[nodiscard]] Hash128 ProgramHashOf(const aggregate::ProfileProcess& process);
// Key, shown tid and comm: what stays from window to window.
[[nodiscard]] Hash128 HashOf(const aggregate::ProfileThread& thread);
[[nodiscard]] Hash128 HashOf(const symbolize::Frame& frame);
// The module of a frame, and what is said of it.
[[nodiscard]] Hash128 ModuleHashOf(const symbolize::Frame& frame);
// Target, host, kernel, hook, version.
[[nodiscard]] Hash128 HostHashOf(const aggregate::Profile& profile);

}  // namespace profd::store
