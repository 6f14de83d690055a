// Words for the kinds of events.
#pragma once

#include <cstdint>

namespace profd::wire {

// "off-CPU sample", "fork", ... of an enum profd_event_kind; "unknown" for any other number.
[[nodiscard]] const char* KindName(std::uint16_t kind);

}  // namespace profd::wire
