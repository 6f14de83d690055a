#include "daemon/fleet/tables/sent_stacks.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "daemon/fleet/tables/content_hash.h"

namespace profd::fleet {
namespace {

constexpr std::uint64_t kDayNs = 24ull * 3'600 * 1'000'000'000;
constexpr std::size_t kMost = 50'000;  // in each set: 2 MB
constexpr std::string_view kMagic = "profd-sent-1";
static_assert(SentStacks::kMostBytes > 2 * kMost * sizeof(std::uint64_t) + 100);

std::uint64_t TakeNumber(std::string_view& bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return number;
}

}  // namespace

bool SentStacks::Take(std::string_view service, std::uint64_t hash, std::uint64_t now_unix_ns) {
  Age(now_unix_ns);
  taken_unix_ns_ = now_unix_ns;
  // `hash` is as good as random. The key is in files.
  const std::uint64_t key = hash ^ ContentHash::Of(service);
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

void SentStacks::Forget() {
  changed_ |= !young_.empty() || !old_.empty();
  young_.clear();
  old_.clear();
}

// Numbers of 8 bytes, little-endian: the receiver, the age and length of the young set, the length
// of the old one, and the keys of both; before them the name of the format, behind them a hash.
std::string SentStacks::Pack(std::string_view receiver) const {
  ContentHash bytes;
  bytes.Number(ContentHash::Of(receiver));
  bytes.Number(young_since_unix_ns_);
  bytes.Number(young_.size());
  bytes.Number(old_.size());
  for (const auto* set : {&young_, &old_})
    for (const std::uint64_t key : *set) bytes.Number(key);
  const std::uint64_t check = bytes.Hash();
  bytes.Number(check);
  return std::string(kMagic) + bytes.bytes();
}

void SentStacks::Unpack(std::string_view bytes, std::string_view receiver) {
  constexpr std::size_t kNumber = sizeof(std::uint64_t);
  constexpr std::size_t kNumbers = 5;  // that are no keys
  if (!bytes.starts_with(kMagic)) return;
  bytes.remove_prefix(kMagic.size());
  if (bytes.size() < kNumbers * kNumber || bytes.size() > kMostBytes) return;
  std::string_view check = bytes.substr(bytes.size() - kNumber);
  bytes.remove_suffix(kNumber);
  if (TakeNumber(check) != ContentHash::Of(bytes)) return;
  if (TakeNumber(bytes) != ContentHash::Of(receiver)) return;
  const std::uint64_t since = TakeNumber(bytes);
  const std::uint64_t young = TakeNumber(bytes);
  const std::uint64_t old = TakeNumber(bytes);
  if (young > kMost || old > kMost || bytes.size() != (young + old) * kNumber) return;
  young_since_unix_ns_ = since;
  for (std::uint64_t i = 0; i < young; ++i) young_.insert(TakeNumber(bytes));
  for (std::uint64_t i = 0; i < old; ++i) old_.insert(TakeNumber(bytes));
}

void SentStacks::Add(std::uint64_t key, std::uint64_t now_unix_ns) {
  if (young_.empty() && old_.empty()) young_since_unix_ns_ = now_unix_ns;
  if (young_.size() >= kMost) {
    old_ = std::exchange(young_, {});
    young_since_unix_ns_ = now_unix_ns;
  }
  changed_ |= young_.insert(key).second;
}

void SentStacks::Age(std::uint64_t now_unix_ns) {
  const std::uint64_t age_ns = now_unix_ns - young_since_unix_ns_;
  // The time of the host may go back: then this is a long time, too.
  if (age_ns >= 2 * kDayNs) {
    Forget();
  } else if (age_ns >= kDayNs) {
    old_ = std::exchange(young_, {});
    young_since_unix_ns_ = now_unix_ns;
    changed_ = true;
  }
}

}  // namespace profd::fleet
