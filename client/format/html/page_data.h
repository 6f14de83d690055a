// PageData: a profile as the page reads it (client/web/page/data.ts).
#pragma once

#include <string>

#include "client/profile/options.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// 4 bytes, the length of a JSON text, lowest first; that text; then columns of numbers, each of
// seven bits a byte, the lowest first: parent, function and shown node of each node; time (as
// differences with the sign in the lowest bit), ns, points, part and leaf of each sample; if
// `counted`, counted ns, cycles, instructions and cache misses of each sample; then for each axis
// its values, unless `by_part` of the axis has them. Names and numbers are those of
// `report`: an axis is one of its keys, and `steps` are those of --steps, the first 20,000. The
// profile has passed CheckProfile.
[[nodiscard]] std::string PageData(const v1::Profile& profile, const ExportOptions& options);

}  // namespace profd::client
