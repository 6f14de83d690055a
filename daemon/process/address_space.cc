#include "daemon/process/address_space.h"

#include <algorithm>
#include <utility>

namespace profd::process {

AddressSpace::AddressSpace(std::size_t max_mappings, MappingBudget& budget)
    : max_mappings_(max_mappings),
      budget_(&budget),
      mappings_(std::make_shared<Mappings>(budget)) {}

bool AddressSpace::Insert(Mapping mapping) {
  if (mapping.start >= mapping.end) return false;
  const bool whole = Remove(mapping.start, mapping.end);
  if (!MakeOwn()) return false;
  const std::uint64_t start = mapping.start;
  return Emplace(start, std::move(mapping)) && whole;
}

bool AddressSpace::Remove(std::uint64_t start, std::uint64_t end) {
  if (!Overlaps(start, end)) return true;
  if (!MakeOwn()) {
    Clear();
    return false;
  }
  auto& ranges = mappings_->ranges;
  bool whole = true;
  auto at = ranges.lower_bound(start);
  if (at != ranges.begin()) {
    Mapping& before = std::prev(at)->second;
    if (before.end > end) whole = InsertRest(before, end);
    if (before.end > start) before.end = start;
  }
  while (at != ranges.end() && at->first < end) {
    const Mapping covered = std::move(at->second);
    at = ranges.erase(at);
    --budget_->used;
    if (covered.end > end) whole = InsertRest(covered, end);
  }
  return whole;
}

void AddressSpace::RemoveOlder(std::uint64_t since_ns) {
  const auto old = std::exchange(mappings_, std::make_shared<Mappings>(*budget_));
  for (const auto& [start, mapping] : old->ranges) {
    if (mapping.since_ns >= since_ns) static_cast<void>(Emplace(start, mapping));
  }
}

void AddressSpace::Clear() { mappings_ = std::make_shared<Mappings>(*budget_); }

bool AddressSpace::Has(const ModuleRef& module, std::uint64_t file_offset) const {
  constexpr std::size_t kQuick = 4'096;
  return size() <= kQuick && std::ranges::any_of(mappings(), [&](const auto& one) {
           return one.second.module == module && one.second.file_offset == file_offset;
         });
}

const Mapping* AddressSpace::Find(std::uint64_t address) const {
  const auto& ranges = mappings_->ranges;
  const auto after = ranges.upper_bound(address);
  if (after == ranges.begin()) return nullptr;
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

bool AddressSpace::MakeOwn() {
  if (mappings_.use_count() == 1) return true;
  if (budget_->used + size() > budget_->limit) return false;
  mappings_ = std::make_shared<Mappings>(*mappings_);
  return true;
}

bool AddressSpace::Emplace(std::uint64_t start, Mapping mapping) {
  if (size() >= max_mappings_ || budget_->used >= budget_->limit) return false;
  mappings_->ranges.emplace(start, std::move(mapping));
  ++budget_->used;
  return true;
}

bool AddressSpace::Overlaps(std::uint64_t start, std::uint64_t end) const {
  if (start >= end) return false;
  const auto& ranges = mappings_->ranges;
  const auto after = ranges.lower_bound(end);
  return after != ranges.begin() && std::prev(after)->second.end > start;
}

bool AddressSpace::InsertRest(Mapping mapping, std::uint64_t start) {
  mapping.file_offset += start - mapping.start;
  mapping.start = start;
  return Emplace(start, std::move(mapping));
}

}  // namespace profd::process
