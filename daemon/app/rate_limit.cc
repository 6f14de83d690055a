#include "daemon/app/rate_limit.h"

#include <limits>

namespace profd::app {
namespace {

// Digits become '#', each run of them one.
std::string KindOf(std::string_view message) {
  std::string kind;
  for (const char c : message) {
    if (kind.size() >= RateLimit::kKindLength) break;
    const bool digit = c >= '0' && c <= '9';
    if (digit && !kind.empty() && kind.back() == '#') continue;
    kind += digit ? '#' : c;
  }
  return kind;
}

}  // namespace

bool RateLimit::Admit(std::string_view message, std::uint64_t now_ns) {
  auto kind = KindOf(message);
  if (kinds_.size() >= kMostKinds && !kinds_.contains(kind)) kind = "other messages";
  auto& period = kinds_.try_emplace(std::move(kind), Period{now_ns, 0}).first->second;
  return ++period.count <= kBurst;
}

std::vector<RateLimit::Held> RateLimit::TakeHeld(std::uint64_t now_ns) {
  return Take(now_ns < kPeriodNs ? 0 : now_ns - kPeriodNs + 1);
}

std::vector<RateLimit::Held> RateLimit::TakeAll() {
  return Take(std::numeric_limits<std::uint64_t>::max());
}

std::vector<RateLimit::Held> RateLimit::Take(std::uint64_t started_before_ns) {
  std::vector<Held> held;
  for (auto at = kinds_.begin(); at != kinds_.end();) {
    if (at->second.start_ns >= started_before_ns) {
      ++at;
      continue;
    }
    if (at->second.count > kBurst) held.push_back({at->first, at->second.count - kBurst});
    at = kinds_.erase(at);
  }
  return held;
}

}  // namespace profd::app
