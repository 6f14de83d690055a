#include "daemon/aggregate/stable_hash.h"

#include <xxhash.h>

namespace profd {

Hash128 HashBytes(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return std::bit_cast<Hash128>(canonical);
}

}  // namespace profd
