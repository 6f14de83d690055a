// CheckDump: proves that a dump can be walked, once, so that nobody looks at an index twice.
#pragma once

#include "daemon/base/result.h"
#include "profd/v1/dump.pb.h"

namespace profd::client {

[[nodiscard]] Result<void> CheckDump(const v1::Dump& dump);

}  // namespace profd::client
