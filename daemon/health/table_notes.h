// What the unwind tables hold, and what they had to give up.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/unwind/table_service.h"

namespace profd::health {

// The counters that are not zero, with words, and the bound that they keep to.
[[nodiscard]] std::vector<aggregate::NamedCount> Describe(
    const unwind::TableService& tables,
    std::uint64_t cap_bytes = unwind::TableService::kDefaultCapBytes);

}  // namespace profd::health
