// SymbolTable: which function holds an address. Built once from whatever an ELF file lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/object.h"
#include "daemon/elf/symbols/function_extents.h"
#include "daemon/elf/symbols/virtual_functions.h"

namespace profd::elf {

enum class SymbolBind : std::uint8_t { kLocal, kWeak, kGlobal };

// One line of a symbol table that may name code.
struct RawSymbol {
  std::uint64_t start = 0;
  std::uint64_t size = 0;         // 0: not given
  std::uint64_t section_end = 0;  // vaddr past its section; bounds the extent when size is 0
  std::uint32_t name = 0;         // offset into the string pool
  SymbolBind bind = SymbolBind::kLocal;
  bool function = true;  // false: a label without a type, as hand-written assembly has them
};

// Immutable; safe from any thread. The rules, so that each address has one name, always the same:
// - Functions with a size hold exactly their extent. Where they overlap, the one that starts last
//   (the innermost) has the address.
// - Symbols without a size, and untyped labels, only fill what those leave free; without a size
//   they reach to the next symbol, at most to the end of their section.
// - Of symbols with one start: functions before labels, global and weak before local, fewer leading
//   underscores, global before weak, shorter, then alphabetical. So `read`, and not `__read`.
// - What no symbol covers has no name: it is not attributed to the symbol before it. If it is known
//   where a function begins and ends, and no symbol holds its begin, it is there: with the name
//   that its class gives it, or with "".
class SymbolTable {
 public:
  struct Entry {
    std::uint64_t begin = 0;
    std::uint32_t bytes = 0;
    std::uint32_t name = 0;  // offset into names()
  };
  static constexpr std::uint32_t kNoName = 0xffffffff;  // an offset outside of every pool

  // Longer names are cut: no reader needs them, and a hostile file could make its whole pool one
  // name.
  static constexpr std::size_t kMaxNameBytes = 4096;

  SymbolTable() = default;
  // `pool` holds zero-terminated names. A name that lies outside it is "" and is left out.
  SymbolTable(std::vector<RawSymbol> symbols, std::string pool);
  // Functions that may have no symbol: ascending and disjoint. `names`, ascending, are for those
  // that have none.
  void AddFunctions(std::span<const FunctionExtent> functions,
                    std::span<const VirtualFunction> names = {});

  [[nodiscard]] std::optional<SymbolRange> Find(std::uint64_t vaddr) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // To be made again elsewhere, by bytes that may have been damaged on the way: kCorrupt, unless
  // the entries are ascending and disjoint.
  [[nodiscard]] static Result<SymbolTable> FromParts(std::vector<Entry> entries, std::string names);
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] std::string_view NameOf(const Entry& entry) const { return NameAt(entry.name); }
  [[nodiscard]] std::string_view names() const { return pool_; }
  [[nodiscard]] std::size_t bytes() const {
    return entries_.capacity() * sizeof(Entry) + pool_.capacity();
  }

 private:
  [[nodiscard]] std::string_view NameAt(std::uint32_t offset) const;
  [[nodiscard]] bool Better(const RawSymbol& a, const RawSymbol& b) const;
  [[nodiscard]] const RawSymbol& BestOf(std::span<const RawSymbol> aliases) const;
  void Emit(std::uint64_t begin, std::uint64_t end, std::uint32_t name);
  void AddSized(std::span<const RawSymbol> sorted);
  void FillGaps(std::span<const RawSymbol> sorted);

  std::vector<Entry> entries_;  // ascending, disjoint
  std::string pool_;
};

}  // namespace profd::elf
