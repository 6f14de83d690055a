// CapabilitySets: the capabilities of the calling thread.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"

namespace profd {

// Bit i is capability number i of linux/capability.h.
struct CapabilitySets {
  std::uint64_t effective = 0;
  std::uint64_t permitted = 0;
};

[[nodiscard]] Result<CapabilitySets> OwnCapabilities();

// None is inheritable afterwards. kPermissionDenied: it has not had one of them.
[[nodiscard]] Result<void> SetOwnCapabilities(const CapabilitySets& wanted);

}  // namespace profd
