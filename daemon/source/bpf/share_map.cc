#include "daemon/source/bpf/share_map.h"

#include <bpf/bpf.h>

#include <array>
#include <cerrno>

namespace profd::source {

std::vector<BeyondShare> ReadBeyondShares(int map_fd) {
  constexpr std::size_t kBatch = 512;
  std::array<profd_share_key, kBatch> keys{};
  std::array<profd_share, kBatch> values{};
  std::vector<BeyondShare> beyond;
  std::uint32_t position = 0;
  bool more = true;
  for (bool first = true; more; first = false) {
    std::uint32_t count = kBatch;
    const int error = ::bpf_map_lookup_batch(map_fd, first ? nullptr : &position, &position,
                                             keys.data(), values.data(), &count, nullptr);
    // ENOENT: these are the last ones.
    more = error == 0;
    if (!more && errno != ENOENT) break;
    for (std::size_t i = 0; i < count; ++i)
      if (values[i].beyond != 0) beyond.push_back({keys[i], values[i].beyond, values[i].beyond_ns});
  }
  return beyond;
}

}  // namespace profd::source
