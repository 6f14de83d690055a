// The tail of samples: frames, their CFAs, and the Python part.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/wire/fields.h"

namespace profd::wire {

// Appends its words, or as many as are there. `fixed` and `tail`: as source::ReadSample says them;
// PROFD_SAMPLE_PACKED in bpf/shared/events.h says how they lie.
void ReadWords(const profd_sample_event& fixed, Bytes tail, std::vector<std::uint64_t>& words);

}  // namespace profd::wire
