// PprofEncoder: an export profile as a profile.proto.
#pragma once

#include <span>
#include <string>

#include "daemon/base/pprof/pprof.pb.h"
#include "daemon/base/result.h"
#include "daemon/fleet/profile/export_profile.h"

namespace profd::fleet {

// How receivers want the parts of a thread's life.
struct PprofShape {
  bool count_type = true;      // sample type samples/count
  bool process_labels = true;  // on samples
  bool thread_labels = true;   // on samples: thread, state and wait
  bool state_as_root = false;  // the outermost function is "[running]" or "[blocked:lock]"
  bool notes = true;           // comments on losses and gaps
};

// Sample types samples/count, wall/nanoseconds, cpu/nanoseconds (running and spinning) and
// off_cpu/nanoseconds (runnable and blocked); stolen time is in wall alone. Only samples and cpu
// where nothing else is exported. Labels: those of the process, thread, state (running, spinning,
// runnable, blocked, stolen) and wait. Comments name the host, what was lost, and gaps. `rows` are
// some of those of `profile`; their order is kept.
[[nodiscard]] pprof::Profile EncodePprof(const ExportProfile& profile,
                                         std::span<const ExportRow> rows, const PprofShape& shape);
// All rows, with all labels.
[[nodiscard]] pprof::Profile EncodePprof(const ExportProfile& profile);

// Its bytes, with gzip or without.
[[nodiscard]] Result<std::string> PprofBytes(const pprof::Profile& profile, Compression how);

}  // namespace profd::fleet
