// AddressSpace: the executable mappings of one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "daemon/process/sample.h"

namespace profd::process {

// [start, end) of a process maps `module` from `file_offset` on.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t since_ns = 0;  // not before it was made
  ModuleRef module;            // null: there were too many modules
};

// How many mappings all address spaces may hold together. It must outlive them.
struct MappingBudget {
  std::size_t limit = 1'000'000;
  std::size_t used = 0;
};

// Job: keeps mappings in order and without overlap. A new mapping replaces what it covers, also a
// part of an older one. A copy, as a fork makes it, shares the mappings until one of the two
// changes. Thread: the worker. Owner: ProcessTable.
class AddressSpace {
 public:
  // `max_mappings` of this process; `budget` of all.
  AddressSpace(std::size_t max_mappings, MappingBudget& budget);

  // False: the mapping has no length, or a limit is reached. Then it may be missing, with what it
  // covers; a mapping that no longer exists is never left.
  [[nodiscard]] bool Insert(Mapping mapping);
  // Removes all mappings in [start, end). False: a limit was reached, and more has been removed.
  [[nodiscard]] bool Remove(std::uint64_t start, std::uint64_t end);
  // Removes mappings from before `since_ns`.
  void RemoveOlder(std::uint64_t since_ns);
  void Clear();

  // The mapping that contains `address`, or null. Valid until the next change.
  [[nodiscard]] const Mapping* Find(std::uint64_t address) const;
  // Whether the module is mapped from this offset on. Where it would take long, false.
  [[nodiscard]] bool Has(const ModuleRef& module, std::uint64_t file_offset) const;
  [[nodiscard]] std::size_t size() const { return mappings_->ranges.size(); }
  // All of them, by start.
  [[nodiscard]] const std::map<std::uint64_t, Mapping>& mappings() const {
    return mappings_->ranges;
  }

 private:
  // Counts in the budget as long as an address space shares it.
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

  // Ends the sharing, by a copy. False: there is no room for one.
  [[nodiscard]] bool MakeOwn();
  [[nodiscard]] bool Emplace(std::uint64_t start, Mapping mapping);
  // Inserts the part of `mapping` from `start` on.
  [[nodiscard]] bool InsertRest(Mapping mapping, std::uint64_t start);
  [[nodiscard]] bool Overlaps(std::uint64_t start, std::uint64_t end) const;

  std::size_t max_mappings_;
  MappingBudget* budget_;
  std::shared_ptr<Mappings> mappings_;
};

}  // namespace profd::process
