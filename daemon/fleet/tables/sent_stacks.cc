#include "daemon/fleet/tables/sent_stacks.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace profd::fleet {
namespace {

constexpr std::uint64_t kDayNs = 24ull * 3'600 * 1'000'000'000;
constexpr std::size_t kMost = 50'000;  // in each set: 2 MB

}  // namespace

bool SentStacks::Take(std::string_view service, std::uint64_t hash, std::uint64_t now_unix_ns) {
  Age(now_unix_ns);
  taken_unix_ns_ = now_unix_ns;
  // `hash` is as good as random.
  const std::uint64_t key = hash ^ std::hash<std::string_view>()(service);
  if (old_.contains(key) || young_.contains(key)) return false;
  return taken_.insert(key).second;
}

void SentStacks::GoWith(std::string_view payload) {
  waiting_.push_back({std::hash<std::string_view>()(payload), taken_unix_ns_,
                      std::vector<std::uint64_t>(taken_.begin(), taken_.end())});
  taken_.clear();
  if (waiting_.size() > kMostWaiting) waiting_.pop_front();
}

void SentStacks::Delivered(std::string_view payload) {
  const auto found =
      std::ranges::find(waiting_, std::hash<std::string_view>()(payload), &Waiting::payload);
  if (found == waiting_.end()) return;
  for (const std::uint64_t key : found->keys) Add(key, found->unix_ns);
  waiting_.erase(found);
}

void SentStacks::Add(std::uint64_t key, std::uint64_t now_unix_ns) {
  if (young_.empty() && old_.empty()) young_since_unix_ns_ = now_unix_ns;
  if (young_.size() >= kMost) {
    old_ = std::exchange(young_, {});
    young_since_unix_ns_ = now_unix_ns;
  }
  young_.insert(key);
}

void SentStacks::Age(std::uint64_t now_unix_ns) {
  const std::uint64_t age_ns = now_unix_ns - young_since_unix_ns_;
  // The time of the host may go back: then this is a long time, too.
  if (age_ns >= 2 * kDayNs) {
    young_.clear();
    old_.clear();
  } else if (age_ns >= kDayNs) {
    old_ = std::exchange(young_, {});
    young_since_unix_ns_ = now_unix_ns;
  }
}

}  // namespace profd::fleet
