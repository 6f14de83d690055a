// What the unwind tables hold, and what they had to give up.
#pragma once

#include "daemon/base/named_count.h"
#include "daemon/unwind/table_service.h"

namespace profd::health {

// With words; those that are zero, too.
[[nodiscard]] Diagnostics Describe(const unwind::TableService& tables);

}  // namespace profd::health
