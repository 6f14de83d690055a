// CopySample: one sample from a profile's columns to another's.
#pragma once

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Appends sample number `index` of `from`, which has passed CheckProfile.
void CopySample(const v1::Samples& from, int index, v1::Samples& to);

}  // namespace profd::client
