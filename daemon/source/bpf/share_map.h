// ShareMap: who has reported more than a share, as the BPF side counts it.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/shared/shares.h"

namespace profd::source {

struct BeyondShare {
  profd_share_key key{};
  std::uint64_t count = 0;    // left out, since the share is kept
  std::uint64_t last_ns = 0;  // CLOCK_MONOTONIC
};

// The shares in the map beyond which something was left out. `map_fd`: of `shares` in
// bpf/maps.bpf.h. Any thread; takes about a millisecond. In error it is empty.
[[nodiscard]] std::vector<BeyondShare> ReadBeyondShares(int map_fd);

}  // namespace profd::source
