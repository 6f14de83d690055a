// ShareMap: who has reported more than a share, as the BPF side counts it.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/budget/share/shares.h"

namespace profd::source {

using budget::BeyondShare;

// The shares in the map beyond which something was left out. `map_fd`: of `shares` in
// bpf/maps.bpf.h. Any thread; takes about a millisecond. In error it is empty.
[[nodiscard]] std::vector<BeyondShare> ReadBeyondShares(int map_fd);

}  // namespace profd::source
