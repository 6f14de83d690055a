#include "daemon/unwind/tables/table_pool.h"

#include <algorithm>
#include <iterator>

namespace profd::unwind {
namespace {

constexpr std::uint64_t kUnitsPerSlab = source::PoolMemory::kSlabBytes / PROFD_PLACE_UNIT;
constexpr std::uint64_t kUnitsPerPage = PROFD_POOL_PAGE_BYTES / PROFD_PLACE_UNIT;
// Places below mean something else: 0 is nowhere, 1 is PROFD_CHUNK_EMPTY.
constexpr std::uint64_t kReservedUnits = 64;
// With so much waiting it is worth a wait, rather than a new slab.
constexpr std::uint64_t kWorthAWait = kUnitsPerSlab;

std::uint64_t Units(std::uint64_t bytes) {
  return (bytes + PROFD_PLACE_UNIT - 1) / PROFD_PLACE_UNIT;
}

std::uint64_t RoundUp(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// First begin at or after `begin` that fits the wishes.
std::uint64_t Fit(std::uint64_t begin, std::uint32_t align_units, std::uint64_t whole_bytes) {
  begin = RoundUp(begin, align_units);
  const std::uint64_t whole = Units(whole_bytes);
  if (begin % kUnitsPerPage + whole > kUnitsPerPage)
    begin = RoundUp(RoundUp(begin, kUnitsPerPage), align_units);
  return begin;
}

}  // namespace

TablePool::TablePool(source::PoolMemory& memory, std::uint64_t cap_bytes)
    : memory_(memory),
      max_slabs_(
          std::min<std::uint64_t>(cap_bytes / source::PoolMemory::kSlabCost, PROFD_MAX_SLABS)) {}

std::optional<Place> TablePool::Allocate(std::uint64_t bytes, std::uint32_t align_units,
                                         std::uint64_t whole_bytes) {
  const std::uint64_t units = std::max<std::uint64_t>(Units(bytes), 1);
  if (units > max_slabs_ * kUnitsPerSlab) return std::nullopt;
  while (true) {
    if (const auto place = TakeFree(units, align_units, whole_bytes)) return place;
    if (quarantined_units_ >= kWorthAWait && EmptyQuarantine()) continue;
    if (AddSlab()) continue;
    if (quarantine_.empty() || !EmptyQuarantine()) return std::nullopt;
  }
}

std::optional<Place> TablePool::TakeFree(std::uint64_t units, std::uint32_t align_units,
                                         std::uint64_t whole_bytes) {
  for (const auto& [begin, length] : free_) {
    const std::uint64_t at = Fit(begin, align_units, whole_bytes);
    const std::uint64_t end = begin + length;
    if (at >= end || end - at < units) continue;
    const std::uint64_t before = at - begin;
    const std::uint64_t after = end - at - units;
    free_.erase(begin);
    if (before > 0) free_.emplace(at - before, before);
    if (after > 0) free_.emplace(at + units, after);
    used_units_ += units;
    return static_cast<Place>(at);
  }
  return std::nullopt;
}

void TablePool::Free(Place place, std::uint64_t bytes) {
  const std::uint64_t units = std::max<std::uint64_t>(Units(bytes), 1);
  used_units_ -= units;
  quarantined_units_ += units;
  quarantine_.emplace_back(place, units);
}

void TablePool::Release(std::uint64_t begin, std::uint64_t units) {
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == begin + units) {
    units += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += units;
      return;
    }
  }
  free_.emplace(begin, units);
}

bool TablePool::EmptyQuarantine() {
  if (!memory_.Synchronize()) return false;
  for (const auto& [place, units] : quarantine_) Release(place, units);
  quarantine_.clear();
  quarantined_units_ = 0;
  return true;
}

bool TablePool::AddSlab() {
  if (slabs_ == max_slabs_ || !memory_.AddSlab()) return false;
  const std::uint64_t begin = slabs_ == 0 ? kReservedUnits : slabs_ * kUnitsPerSlab;
  ++slabs_;
  Release(begin, slabs_ * kUnitsPerSlab - begin);
  return true;
}

std::uint64_t TablePool::quarantined_bytes() const { return quarantined_units_ * PROFD_PLACE_UNIT; }

}  // namespace profd::unwind
