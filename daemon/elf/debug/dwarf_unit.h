// UnitIndex: the functions, inlined calls and lines of one compilation unit, ready for look-ups.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/base/result.h"

namespace profd::elf {

// A function with code, or a call that was inlined.
struct CodeScope {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t die = 0;         // offset of its entry from the unit's start
  std::uint32_t parent = kNone;  // the scope it is inlined into; kNone: a function
  std::uint32_t call_file = 0;   // where it was called, when inlined
  std::uint32_t call_line = 0;
};

struct LineRow {
  std::uint64_t address = 0;
  std::uint32_t file = 0;  // 0 and line 0: the end of a range
  std::uint32_t line = 0;
};

// Built in one pass over the unit, because libdw's own search walks the unit for every address. The
// pass ends at a bound on the number of entries and on their depth. Immutable. Owned by a
// DwarfFile.
class UnitIndex {
 public:
  static constexpr std::size_t kMaxEntries = 8u << 20;
  static constexpr std::size_t kMaxDepth = 256;

  // `unit` is the entry of a compilation unit. Damage inside of it ends the pass. The index then
  // holds what comes before the damage, and damaged() is true.
  [[nodiscard]] static UnitIndex Build(Dwarf_Die unit);

  // Innermost scope that holds the address; kNone when there is none.
  [[nodiscard]] std::uint32_t ScopeAt(std::uint64_t vaddr) const;
  [[nodiscard]] const CodeScope& scope(std::uint32_t number) const { return scopes_[number]; }
  // Null when no row covers the address.
  [[nodiscard]] const LineRow* LineAt(std::uint64_t vaddr) const;
  [[nodiscard]] bool damaged() const { return damaged_; }
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(*this) + scopes_.capacity() * sizeof(CodeScope) +
           ranges_.capacity() * sizeof(Range) + lines_.capacity() * sizeof(LineRow);
  }

 private:
  class Walk;
  // From `begin` to the next one.
  struct Range {
    std::uint64_t begin = 0;
    std::uint32_t scope = CodeScope::kNone;
  };
  // Code of a scope, as the file lists it.
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t scope = 0;
    std::uint32_t left = 0;  // how many scopes the walk had left when it left this one
  };
  void Flatten(std::vector<Extent> extents);
  void ReadLines(Dwarf_Die& unit);

  std::vector<CodeScope> scopes_;  // parents before children
  std::vector<Range> ranges_;      // ascending
  std::vector<LineRow> lines_;     // ascending
  bool damaged_ = false;
};

}  // namespace profd::elf
