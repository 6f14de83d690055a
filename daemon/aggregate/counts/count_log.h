// CountLog: collects what hardware counters count in one session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/counts/hardware_counts.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Belongs to a ProfileBuilder and is used by its thread. Bounded by the threads and parts of the
// builder. Events of a thread come in order of time.
class CountLog {
 public:
  // `thread`, `part`: what the caller numbers threads and parts of samples by.
  void Add(const wire::PmuEvent& event, std::uint32_t thread);
  void AddPart(const HardwareCounts& counts, std::size_t part);

  // Of a session between these epochs. `began`: the thread did so in the session. Nothing: its
  // counts are not known.
  [[nodiscard]] std::optional<HardwareCounts> OfThread(std::uint32_t thread, bool began,
                                                       std::uint64_t start_epoch,
                                                       std::uint64_t end_epoch) const;
  // Of a part: a number for its counts, from 1; 0: it has none.
  [[nodiscard]] std::uint32_t NumberOf(std::size_t part) const {
    return part < part_numbers_.size() ? part_numbers_[part] : 0;
  }
  [[nodiscard]] const HardwareCounts& At(std::uint32_t number) const {
    return parts_.at(number - 1);
  }
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Reading {
    std::uint64_t epoch = 0;
    HardwareCounts sums{};
  };
  struct Thread {
    std::optional<Reading> first;
    std::optional<Reading> last;
    std::optional<HardwareCounts> end;
  };

  std::unordered_map<std::uint32_t, Thread> threads_;
  std::vector<std::uint32_t> part_numbers_;  // by part
  std::vector<HardwareCounts> parts_;
};

}  // namespace profd::aggregate
