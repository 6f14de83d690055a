// CodeStarts: where functions of a file begin, as far as its tables list them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "daemon/elf/file/elf_file.h"
#include "daemon/unwind/code/function_rows.h"

namespace profd::unwind {

// Reads section headers, symbols and relocations once. Functions that have unwind information are
// left out. Addresses are the object's own. Immutable after Read; used by one thread.
class CodeStarts {
 public:
  // `is_covered`: unwind information begins at this address. What is damaged lists nothing.
  [[nodiscard]] static CodeStarts Read(elf::ElfFile& file,
                                       const std::function<bool(std::uint64_t)>& is_covered);

  // By symbols.
  [[nodiscard]] CodeBegin BeginAt(std::uint64_t address) const;
  // Functions of [begin, end) by symbols, ascending.
  [[nodiscard]] std::vector<std::uint64_t> Listed(std::uint64_t begin, std::uint64_t end) const;
  // The last one in [begin, end].
  [[nodiscard]] std::optional<std::uint64_t> LastListed(std::uint64_t begin,
                                                        std::uint64_t end) const;
  // Addresses of [begin, end) that relocations put somewhere: of functions, or of labels.
  [[nodiscard]] std::span<const std::uint64_t> Referenced(std::uint64_t begin,
                                                          std::uint64_t end) const;
  // In memory, by an estimate.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Symbol {
    std::uint64_t address = 0;
    std::uint64_t name = 0;  // file offset
  };
  void ReadSymbols(const elf::ElfFile& file, const elf::ElfSection& table,
                   const std::function<bool(std::uint64_t)>& is_wanted);
  // Of a table of relocations: what they say is RELATIVE, R_X86_64_64 and RELR.
  void ReadReferences(const elf::ElfFile& file, const elf::ElfSection& table,
                      const std::function<bool(std::uint64_t)>& is_wanted);
  // Compilers name the parts of functions that they move elsewhere so.
  [[nodiscard]] bool IsPart(const Symbol& symbol) const;

  const elf::ByteSource* source_ = nullptr;
  std::vector<Symbol> symbols_;            // ascending
  std::vector<std::uint64_t> references_;  // ascending
};

}  // namespace profd::unwind
