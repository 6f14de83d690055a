// DataWords: the pointers in a file's constant data, as they are when it is loaded.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/elf/file/byte_window.h"
#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

// Which of the classes that describe types a symbol is the vtable of, by the C++ ABI.
enum class TypeKind : std::uint8_t { kNone, kClass, kSingleBase, kBases };
// Addresses by TypeKind; 0: not in this file.
using TypeVtables = std::array<std::uint64_t, 4>;

// Words of `.data.rel.ro`, and of `.rodata` in a program that is linked to a fixed address. A
// pointer is what relocations make of it: RELATIVE, R_X86_64_64 and RELR; in such a program also
// what stands there. Four bytes a word. The source outlives it; used by one thread.
class DataWords {
 public:
  // A word is an address below kFirstMark, 0 for what is no pointer, or one of these.
  static constexpr std::uint32_t kFirstMark = 0xfffffff0;
  static constexpr std::uint32_t kImported = 0xffffffff;  // into another file
  // A pointer to the functions of such a vtable, in whichever file.
  static constexpr std::uint32_t MarkOf(TypeKind kind) {
    return kFirstMark + static_cast<std::uint32_t>(kind);
  }

  // Nothing where there are none, or more than `max_words`: all pointers count, or none. `file`: a
  // 64-bit x86 file with sections. Relocations up to its limits.symbols are read.
  [[nodiscard]] static std::optional<DataWords> Read(const ElfFile& file, std::size_t max_words);

  [[nodiscard]] std::size_t size() const { return words_.size(); }
  [[nodiscard]] std::uint32_t operator[](std::size_t index) const { return words_[index]; }
  // All words lie in [first_address(), end_address()).
  [[nodiscard]] std::uint64_t first_address() const { return sections_.front().vaddr; }
  [[nodiscard]] std::uint64_t end_address() const { return end_; }
  // Where a word is from; words that follow each other do so in the file, within `ends`.
  [[nodiscard]] std::optional<std::size_t> IndexOf(std::uint64_t vaddr) const;
  // The index behind the last word of the section that this one is in.
  [[nodiscard]] std::size_t EndOf(std::size_t index) const;
  // As it stands in the file, for what is no pointer.
  [[nodiscard]] std::uint64_t NumberAt(std::size_t index);

 private:
  struct Section {
    std::uint64_t vaddr = 0;
    std::uint64_t offset = 0;  // in the file
    std::size_t first = 0;     // of words_
    std::size_t count = 0;
  };
  explicit DataWords(const ByteSource& source) : window_(source) {}
  void Relocate(const ElfFile& file, const std::vector<std::uint32_t>& symbols);
  void RelocatePacked(const ElfFile& file, const ElfSection& table);
  void ReadPlain(const ElfFile& file);
  void MarkTypes(const TypeVtables& vtables);
  [[nodiscard]] TypeVtables FindTypes(const ElfFile& file);
  [[nodiscard]] std::uint64_t VaddrOf(std::size_t index) const;
  [[nodiscard]] const Section& SectionOf(std::size_t index) const;

  ByteWindow window_;
  std::vector<Section> sections_;
  std::vector<std::uint32_t> words_;
  std::uint64_t end_ = 0;
};

}  // namespace profd::elf
