// What a profile says of the GIL of Python processes.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Of sample number `index`; what a newer profd may know is GIL_UNKNOWN. The profile must have
// passed CheckProfile.
[[nodiscard]] v1::Gil GilOf(const v1::Samples& samples, int index);

// The profile's time with the GIL held, running or not, and nothing else: `only_gil` is set, and a
// note says how many samples were left out for which nobody could tell. Clocks stay as they are. A
// profile that is restricted already stays as it is. kNotFound, with a reason: there is no such
// time. Errors of CheckProfile.
[[nodiscard]] Result<v1::Profile> OnlyGil(const v1::Profile& profile);

}  // namespace profd::client
