#include "daemon/aggregate/counts/count_log.h"

#include <algorithm>

namespace profd::aggregate {

void CountLog::Add(const wire::PmuEvent& event, std::uint32_t thread) {
  Thread& of = threads_[thread];
  if (event.epoch != 0) {
    const Reading reading{event.epoch, event.at_epoch};
    if (!of.first) of.first = reading;
    if (!of.last || of.last->epoch <= event.epoch) of.last = reading;
  }
  if (event.end) of.end = event.final;
}

std::optional<HardwareCounts> CountLog::OfThread(std::uint32_t thread, bool began,
                                                 std::uint64_t start_epoch,
                                                 std::uint64_t end_epoch) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return std::nullopt;
  const Thread& of = found->second;
  HardwareCounts from{};
  // A thread that joined the session has a first reading, too, under the number of some epoch.
  if (!began) {
    if (!of.first || of.first->epoch < start_epoch) return std::nullopt;
    from = of.first->sums;
  }
  // An end that came before the session's wins; a reading of the end is as of that instant.
  if (of.last && of.last->epoch == end_epoch) return CountsBetween(from, of.last->sums);
  if (of.end) return CountsBetween(from, *of.end);
  if (of.last && of.last->epoch < end_epoch) return CountsBetween(from, of.last->sums);
  return std::nullopt;
}

void CountLog::AddPart(const HardwareCounts& counts, std::size_t part) {
  parts_.push_back(counts);
  part_numbers_.resize(std::max(part_numbers_.size(), part + 1));
  part_numbers_[part] = static_cast<std::uint32_t>(parts_.size());
}

std::size_t CountLog::bytes() const {
  constexpr std::size_t kEntryBytes = 64;
  return threads_.size() * (sizeof(Thread) + kEntryBytes) +
         parts_.capacity() * sizeof(HardwareCounts) +
         part_numbers_.capacity() * sizeof(std::uint32_t);
}

}  // namespace profd::aggregate
