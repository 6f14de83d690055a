#include "daemon/elf/debug/dwarf_unit.h"

#include <dwarf.h>

#include <algorithm>
#include <queue>
#include <utility>

namespace profd::elf {
namespace {

// Whether functions with code may be inside of it.
bool HoldsCode(int tag, bool types_hold_code) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
      return true;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
      return types_hold_code;
    default:
      return false;
  }
}

bool TypesHoldCode(Dwarf_Die& unit) {
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
      return false;
    default:
      return true;
  }
}

std::uint32_t NumberOf(Dwarf_Die& die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_attr(&die, attribute_name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &number) != 0 || number > 0xffffffff)
    return 0;
  return static_cast<std::uint32_t>(number);
}

}  // namespace

// Visits the entries of a unit in the order of the file; with a stack of its own, since how deep
// they nest is the file's choice.
class UnitIndex::Walk {
 public:
  Walk(UnitIndex& index, Dwarf_Die& unit)
      : index_(index),
        unit_start_(dwarf_dieoffset(&unit) - dwarf_cuoffset(&unit)),
        types_hold_code_(TypesHoldCode(unit)) {}

  // False when it ended early.
  bool Run(Dwarf_Die unit) {
    Level level;
    if (const int status = dwarf_child(&unit, &level.die); status != 0) return status > 0;
    levels_.push_back(level);
    std::size_t entries = 0;
    Dwarf_Off last = dwarf_dieoffset(&unit);
    while (!levels_.empty()) {
      Level& here = levels_.back();
      const Dwarf_Off offset = dwarf_dieoffset(&here.die);
      // A reference to the next sibling may lead back.
      if (offset <= last || ++entries > kMaxEntries) return false;
      last = offset;
      std::uint32_t inner = here.scope;
      if (Enter(here.die, inner)) {
        Level below;
        below.scope = inner;
        const int status = dwarf_child(&here.die, &below.die);
        if (status < 0 || levels_.size() >= kMaxDepth) return false;
        if (status == 0) {
          below.opens = inner != here.scope;
          levels_.push_back(below);
          continue;
        }
      }
      if (inner != here.scope) Leave(inner);
      if (!Next()) return false;
    }
    return true;
  }

  [[nodiscard]] std::vector<Extent> TakeExtents() {
    for (Extent& extent : extents_) extent.left = left_[extent.scope];
    return std::move(extents_);
  }

 private:
  struct Level {
    Dwarf_Die die{};
    std::uint32_t scope = CodeScope::kNone;  // that holds these entries
    bool opens = false;                      // it is the scope's own level
  };

  void Leave(std::uint32_t scope) { left_[scope] = left_count_++; }

  // To the next entry on this level, or on the one above.
  bool Next() {
    while (!levels_.empty()) {
      Dwarf_Die next;
      const int status = dwarf_siblingof(&levels_.back().die, &next);
      if (status < 0) return false;
      if (status == 0) {
        levels_.back().die = next;
        return true;
      }
      if (levels_.back().opens) Leave(levels_.back().scope);
      levels_.pop_back();
    }
    return true;
  }

  // Whether to go inside; `scope` becomes the entry's own if it has code.
  bool Enter(Dwarf_Die& die, std::uint32_t& scope) {
    const int tag = dwarf_tag(&die);
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
      return HoldsCode(tag, types_hold_code_);
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    bool has_code = false;
    std::ptrdiff_t at = 0;
    while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0) {
      // Code that the linker took out is left at 0.
      if (begin == 0 || begin >= end || extents_.size() >= kMaxEntries) continue;
      extents_.push_back({begin, end, static_cast<std::uint32_t>(index_.scopes_.size())});
      has_code = true;
    }
    if (!has_code) return false;
    CodeScope made;
    made.die = static_cast<std::uint32_t>(dwarf_dieoffset(&die) - unit_start_);
    if (tag == DW_TAG_inlined_subroutine && scope != CodeScope::kNone) {
      made.parent = scope;
      made.call_file = NumberOf(die, DW_AT_call_file);
      made.call_line = NumberOf(die, DW_AT_call_line);
    }
    scope = static_cast<std::uint32_t>(index_.scopes_.size());
    index_.scopes_.push_back(made);
    left_.push_back(CodeScope::kNone);
    return dwarf_haschildren(&die) > 0;
  }

  UnitIndex& index_;
  const Dwarf_Off unit_start_;
  const bool types_hold_code_;
  std::vector<Level> levels_;
  std::vector<Extent> extents_;
  std::vector<std::uint32_t> left_;  // of each scope: how many were left before it
  std::uint32_t left_count_ = 0;
};

UnitIndex UnitIndex::Build(Dwarf_Die unit) {
  UnitIndex index;
  Walk walk(index, unit);
  index.damaged_ = !walk.Run(unit);
  index.Flatten(walk.TakeExtents());
  index.ReadLines(unit);
  index.scopes_.shrink_to_fit();
  return index;
}

std::uint32_t UnitIndex::ScopeAt(std::uint64_t vaddr) const {
  const auto after = std::ranges::upper_bound(ranges_, vaddr, {}, &Range::begin);
  return after == ranges_.begin() ? CodeScope::kNone : std::prev(after)->scope;
}

const LineRow* UnitIndex::LineAt(std::uint64_t vaddr) const {
  const auto after = std::ranges::upper_bound(lines_, vaddr, {}, &LineRow::address);
  if (after == lines_.begin()) return nullptr;
  const LineRow& row = *std::prev(after);
  return row.line == 0 && row.file == 0 ? nullptr : &row;
}

// A sweep over the extents that are open. Of those the one that was left first in the walk has the
// address: children before their parents, and of siblings that overlap the first, as a search from
// above would find it.
void UnitIndex::Flatten(std::vector<Extent> extents) {
  std::ranges::sort(extents, {}, &Extent::begin);
  const auto below = [](const Extent& a, const Extent& b) { return a.left > b.left; };
  std::priority_queue<Extent, std::vector<Extent>, decltype(below)> open(below);
  const auto range = [&](std::uint64_t begin) {
    const std::uint32_t scope = open.empty() ? CodeScope::kNone : open.top().scope;
    if (!ranges_.empty() && ranges_.back().begin == begin) {
      ranges_.back().scope = scope;
    } else if (ranges_.empty() || ranges_.back().scope != scope) {
      ranges_.push_back({begin, scope});
    }
  };
  const auto close_until = [&](std::uint64_t limit) {
    while (!open.empty() && open.top().end <= limit) {
      const std::uint64_t end = open.top().end;
      while (!open.empty() && open.top().end <= end) open.pop();
      range(end);
    }
  };
  for (const Extent& extent : extents) {
    close_until(extent.begin);
    open.push(extent);
    range(extent.begin);
  }
  close_until(~std::uint64_t{0});
  ranges_.shrink_to_fit();
}

void UnitIndex::ReadLines(Dwarf_Die& unit) {
  Dwarf_Lines* table = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit, &table, &count) != 0) return;
  lines_.reserve(std::min(count, kMaxEntries));
  for (std::size_t i = 0; i < count && lines_.size() < kMaxEntries; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(table, i);
    LineRow row;
    Dwarf_Addr address = 0;
    bool ends = false;
    int number = 0;
    std::size_t file = 0;
    Dwarf_Files* files = nullptr;
    if (line == nullptr || dwarf_lineaddr(line, &address) != 0 ||
        dwarf_lineendsequence(line, &ends) != 0)
      continue;
    row.address = address;
    if (!ends && dwarf_lineno(line, &number) == 0 && dwarf_line_file(line, &files, &file) == 0) {
      row.line = static_cast<std::uint32_t>(std::max(number, 0));
      row.file = static_cast<std::uint32_t>(file);
    }
    // Of several rows at one address the last is meant; but an end there is that of the code
    // before.
    if (!lines_.empty() && lines_.back().address == address) {
      if (!ends) lines_.back() = row;
      continue;
    }
    lines_.push_back(row);
  }
  lines_.shrink_to_fit();
}

}  // namespace profd::elf
