// Any text as /proc/PID/maps of a process.
#include <algorithm>
#include <string_view>

#include "daemon/base/proc/maps_parser.h"
#include "daemon/process/address_space.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  process::MappingBudget budget{.limit = 200};
  {
    process::AddressSpace space(100, budget);
    std::uint64_t lines = 0;
    const std::uint64_t malformed = ParseMaps(text, [&](MapsLine&& line) {
      ++lines;
      fuzz::Require(line.start < line.end, "a line is a range");
      const bool inserted = space.Insert({.start = line.start,
                                          .end = line.end,
                                          .file_offset = line.file_offset,
                                          .since_ns = 0,
                                          .module = nullptr});
      if (inserted) fuzz::Require(space.Find(line.start) != nullptr, "what is inserted is found");
    });
    const auto newlines = static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
    fuzz::Require(lines + malformed <= newlines + 1, "no more lines than there are");
    fuzz::Require(space.size() <= 100, "bound of one");
    fuzz::Require(budget.used == space.size(), "account");
    std::uint64_t end = 0;
    for (const auto& [start, mapping] : space.mappings()) {
      fuzz::Require(start >= end && start == mapping.start && start < mapping.end, "order");
      end = mapping.end;
    }
  }
  fuzz::Require(budget.used == 0, "everything is given back");
  return 0;
}
