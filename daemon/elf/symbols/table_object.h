// TableObject: an Object that holds everything itself.
#pragma once

#include <utility>

#include "daemon/elf/file/object.h"
#include "daemon/elf/symbols/symbol_table.h"

namespace profd::elf {

// Immutable; safe from any thread.
class TableObject : public Object {
 public:
  TableObject(ObjectInfo info, SymbolTable symbols)
      : info_(std::move(info)), symbols_(std::move(symbols)) {}

  [[nodiscard]] const ObjectInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<SymbolRange> FindSymbol(std::uint64_t vaddr) const override {
    return symbols_.Find(vaddr);
  }
  [[nodiscard]] std::size_t bytes() const override {
    return sizeof(*this) + info_.segments.capacity() * sizeof(LoadSegment) + symbols_.bytes();
  }

 private:
  const ObjectInfo info_;
  const SymbolTable symbols_;
};

}  // namespace profd::elf
