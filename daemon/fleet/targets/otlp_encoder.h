// OtlpEncoder: an export profile as requests of OTLP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/targets/otlp.pb.h"

namespace profd::fleet {

struct OtlpParts {
  std::vector<std::string> requests;  // messages without compression, none larger than the limit
  std::uint64_t too_large_ns = 0;  // of rows that would make even a request of their own too large
};

// A resource for each set of labels, with one profile. Its sample type is wall/nanoseconds, or
// cpu/nanoseconds where nothing else is exported; attributes of a sample are thread.name,
// profd.state (running, spinning, runnable, blocked, stolen) and profd.wait. Attributes of the
// profile say what was lost (profd.lost.NAME) and which time is missing before it
// (profd.gap.CAUSE, in ns). What is larger than `limit` is split into requests whose sums are those
// of the whole. profile_id is a hash of the content.
[[nodiscard]] OtlpParts EncodeOtlp(const ExportProfile& profile, std::size_t limit);

}  // namespace profd::fleet
