// What the unwind tables hold, and what they had to give up.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/unwind/table_service.h"

namespace profd::health {

struct TableReport {
  std::vector<aggregate::NamedCount> levels;  // go up and down; with the bound that they keep to
  std::vector<aggregate::NamedCount> counts;
};

// With words; those that are zero, too.
[[nodiscard]] TableReport Describe(const unwind::TableService& tables);

}  // namespace profd::health
