// Words for the kinds of events.
#pragma once

#include <cstdint>

#include "bpf/shared/shares.h"

namespace profd::wire {

// "off-CPU sample", "fork", ... of an enum profd_event_kind; "unknown" for any other number.
[[nodiscard]] const char* KindName(std::uint16_t kind);

// What follows for the process or user that goes beyond the share: "makes threads too often; ...".
[[nodiscard]] const char* Consequence(profd_share_kind kind);

// Whether a share of this kind is one user's; the others are of one process.
[[nodiscard]] bool IsOfUser(profd_share_kind kind);

}  // namespace profd::wire
