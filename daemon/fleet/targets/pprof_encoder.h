// PprofEncoder: an export profile as a profile.proto.
#pragma once

#include <string>

#include "daemon/base/pprof/pprof.pb.h"
#include "daemon/base/result.h"
#include "daemon/fleet/profile/export_profile.h"

namespace profd::fleet {

// Sample types samples/count, wall/nanoseconds, cpu/nanoseconds (running and spinning) and
// off_cpu/nanoseconds (runnable and blocked); stolen time is in wall alone. Only samples and cpu
// where nothing else is exported. Labels: those of the process, thread, state (running, spinning,
// runnable, blocked, stolen) and wait. Comments name the host, what was lost, and gaps.
[[nodiscard]] pprof::Profile EncodePprof(const ExportProfile& profile);

// Its bytes, with gzip or without.
[[nodiscard]] Result<std::string> PprofBytes(const pprof::Profile& profile, Compression how);

}  // namespace profd::fleet
