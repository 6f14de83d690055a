// TableObject: an Object that holds everything itself.
#pragma once

#include <optional>
#include <utility>

#include "daemon/elf/file/object.h"
#include "daemon/elf/symbols/symbol_index.h"
#include "daemon/elf/symbols/symbol_table.h"

namespace profd::elf {

// Symbols are in memory or, of a large file, in an index; then it is used by one thread.
class TableObject : public Object {
 public:
  TableObject(ObjectInfo info, SymbolTable symbols, std::optional<SymbolIndex> index = {})
      : info_(std::move(info)), symbols_(std::move(symbols)), index_(std::move(index)) {}

  [[nodiscard]] const ObjectInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<SymbolRange> FindSymbol(std::uint64_t vaddr) const override {
    return index_ ? index_->Find(vaddr) : symbols_.Find(vaddr);
  }
  [[nodiscard]] std::size_t bytes() const override {
    return sizeof(*this) + info_.segments.capacity() * sizeof(LoadSegment) + symbols_.bytes() +
           (index_ ? index_->bytes() : 0);
  }

 private:
  const ObjectInfo info_;
  const SymbolTable symbols_;
  const std::optional<SymbolIndex> index_;
};

}  // namespace profd::elf
