// perf_event_open: what all users of it share.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::source {

// An attribute with its size set and everything else zero.
[[nodiscard]] perf_event_attr MakePerfAttr(std::uint32_t type, std::uint64_t config);

// An event that counts everything on one CPU. `purpose` stands in the error: "cannot open the
// on-CPU sampling event: ...". kNotFound: this CPU is not online. kUnsupported: no such event here.
[[nodiscard]] Result<UniqueFd> OpenCpuEvent(perf_event_attr attr, std::uint32_t cpu,
                                            const std::string& purpose);

// How long the event has been enabled, ns. Stands still when its CPU went offline, even if it came
// back: such an event is dead. Needs read_format PERF_FORMAT_TOTAL_TIME_ENABLED. 0: cannot be read.
[[nodiscard]] std::uint64_t TimeEnabledNs(const UniqueFd& event);

}  // namespace profd::source
