// What the unwind tables hold, and what they had to give up.
#pragma once

#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/unwind/table_service.h"

namespace profd::health {

// The counters that are not zero, with words.
[[nodiscard]] std::vector<aggregate::NamedCount> Describe(const unwind::TableService& tables);

}  // namespace profd::health
