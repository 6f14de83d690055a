#include "daemon/fleet/tables/sent_stacks.h"

#include <functional>
#include <string>
#include <utility>

namespace profd::fleet {
namespace {

constexpr std::uint64_t kHalfDayNs = 12ull * 3'600 * 1'000'000'000;
constexpr std::size_t kMost = 50'000;  // in each set: 2 MB

}  // namespace

bool SentStacks::Take(std::string_view service, std::uint64_t hash, std::uint64_t now_unix_ns) {
  if (now_unix_ns - young_since_unix_ns_ >= 2 * kHalfDayNs) Clear();
  if (young_.empty()) young_since_unix_ns_ = now_unix_ns;
  if (young_.size() >= kMost || now_unix_ns - young_since_unix_ns_ >= kHalfDayNs) {
    old_ = std::exchange(young_, {});
    young_since_unix_ns_ = now_unix_ns;
  }
  // `hash` is as good as random.
  const std::uint64_t key = hash ^ std::hash<std::string_view>()(service);
  if (old_.contains(key)) return false;
  return young_.insert(key).second;
}

void SentStacks::Clear() {
  young_.clear();
  old_.clear();
}

}  // namespace profd::fleet
