// What the unwind tables hold, and what they had to discard.
#pragma once

#include "daemon/base/named_count.h"
#include "daemon/unwind/service/table_service.h"

namespace profd::unwind {

// With words; those that are zero, too.
[[nodiscard]] Diagnostics Describe(const unwind::TableService& tables);

}  // namespace profd::unwind
