// AddressSpace: which file lies where in one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "daemon/process/sample.h"

namespace profd::process {

// [start, end) of a process shows `module` from `file_offset` on. Executable mappings only.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t since_ns = 0;  // when it was made, or later
  ModuleRef module;            // null: there were too many modules
};

// How many mappings all address spaces may hold together. Outlives them all.
struct MappingBudget {
  std::size_t limit = 1'000'000;
  std::size_t used = 0;
};

// Mappings in order, without overlap: a new one takes the place of what it covers, also in part.
// A copy shares the mappings until one of the two changes (fork). Used by the worker thread.
class AddressSpace {
 public:
  // `max_mappings` of this process; `budget` of all.
  AddressSpace(std::size_t max_mappings, MappingBudget& budget);

  // False when it has no length, or when a bound is reached: then it, or what it covers, may be
  // missing, but nothing that is no longer there is left.
  [[nodiscard]] bool Insert(Mapping mapping);
  // Nothing executable lies in [start, end) any more. False when a bound was in the way: then more
  // than that has been forgotten.
  [[nodiscard]] bool Remove(std::uint64_t start, std::uint64_t end);
  // Forgets what was mapped before `since_ns`.
  void RemoveOlder(std::uint64_t since_ns);
  void Clear();

  // The mapping that holds `address`; null when none does. Valid until the next change.
  [[nodiscard]] const Mapping* Find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return mappings_->ranges.size(); }
  // All of them, by start.
  [[nodiscard]] const std::map<std::uint64_t, Mapping>& mappings() const {
    return mappings_->ranges;
  }

 private:
  // Accounts for what it holds as long as anybody shares it.
  struct Mappings {
    explicit Mappings(MappingBudget& shared) : budget(shared) {}
    Mappings(const Mappings& other) : budget(other.budget), ranges(other.ranges) {
      budget.used += ranges.size();
    }
    Mappings& operator=(const Mappings&) = delete;
    ~Mappings() { budget.used -= ranges.size(); }

    MappingBudget& budget;
    std::map<std::uint64_t, Mapping> ranges;  // by start
  };

  // No longer shared with anybody. False when there is no room for a copy.
  [[nodiscard]] bool MakeOwn();
  [[nodiscard]] bool Emplace(std::uint64_t start, Mapping mapping);
  // Keeps the part of `mapping` from `start` on as a mapping of its own.
  [[nodiscard]] bool InsertRest(Mapping mapping, std::uint64_t start);
  [[nodiscard]] bool Overlaps(std::uint64_t start, std::uint64_t end) const;

  std::size_t max_mappings_;
  MappingBudget* budget_;
  std::shared_ptr<Mappings> mappings_;
};

}  // namespace profd::process
