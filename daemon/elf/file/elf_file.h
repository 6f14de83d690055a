// ElfFile: the headers of an ELF file, its program headers, sections, notes and symbols.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"

namespace profd::elf {

// Bounds against hostile files; what goes beyond is refused with the reason. With all of them
// reached, reading takes about 250 MiB for a moment, and the object half of it. A .symtab beyond
// table_symbols or table_string_bytes is not read into memory, but written to an index, and so is a
// table that takes more than table_bytes then.
struct ElfLimits {
  std::uint64_t sections = 1u << 17;
  std::uint64_t segments = 4096;
  std::uint64_t symbols = 2u << 20;
  std::uint64_t string_bytes = 128u << 20;  // of one table of names
  std::uint64_t table_symbols = 512u << 10;
  std::uint64_t table_string_bytes = 32u << 20;
  std::uint64_t table_bytes = 1u << 20;
  std::uint64_t stub_bytes = 4u << 20;        // of one procedure linkage table
  std::uint64_t minidebug_bytes = 32u << 20;  // .gnu_debugdata as it is in the file, and unpacked
  std::uint64_t note_bytes = 64u << 10;  // all notes together that are searched for the build id
  std::uint64_t indexed_symbols = 16u << 20;
  std::uint64_t index_bytes = 2ull << 30;
};

// Error for a number that is beyond its bound.
[[nodiscard]] Error BeyondBound(const char* what, std::uint64_t have, std::uint64_t bound);

struct ElfHeader {
  bool is_64 = true;
  bool big_endian = false;
  std::uint16_t type = 0;  // ET_*
  std::uint16_t machine = 0;
  std::uint64_t entry = 0;
  // Tables of program and section headers: file offset, and how many. Sections are not checked.
  std::uint64_t segments_at = 0;
  std::uint64_t segments = 0;
  std::uint64_t sections_at = 0;
  std::uint64_t sections = 0;
};

struct ElfSegment {
  std::uint32_t type = 0;  // PT_*
  bool executable = false;
  bool in_file = true;  // all of it; the kernel maps no other
  std::uint64_t file_offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t memory_bytes = 0;  // as the file claims
  std::uint64_t align = 0;
};

struct ElfSection {
  std::uint32_t type = 0;  // SHT_*
  std::uint32_t link = 0;
  std::uint32_t info = 0;  // of relocations: the section that they change
  std::uint64_t flags = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t offset = 0;  // in the file; not checked, nor is `bytes`
  std::uint64_t bytes = 0;
  std::uint64_t align = 0;
  std::uint64_t entry_bytes = 0;
  std::uint32_t name = 0;  // in the table of their names

  [[nodiscard]] bool compressed() const;
  [[nodiscard]] std::uint64_t vaddr_end() const { return vaddr + std::min(bytes, ~vaddr); }
};

struct ElfSymbol {
  static constexpr std::uint32_t kNoSection = 0xffffffff;  // absolute, common, ...
  std::uint64_t index = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  std::uint32_t name = 0;     // in the table of names
  std::uint32_t section = 0;  // 0: not defined here
  unsigned type = 0;          // STT_*
  unsigned bind = 0;          // STB_*
};

struct ElfRelocation {  // with an addend
  std::uint64_t offset = 0;
  std::uint32_t type = 0;
  std::uint32_t symbol = 0;  // its index; 0: none
  std::uint64_t addend = 0;
};

// What stands before the bytes of a compressed section.
struct ElfCompression {
  std::uint32_t type = 0;      // ELFCOMPRESS_*
  std::uint64_t unpacked = 0;  // bytes, as the file claims
  std::uint64_t header_bytes = 0;
};

// A part of a file.
struct FilePart {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The one reader of these structures: files of any class and byte order, of any machine, whose
// bytes are as hostile as their owners. Every number is bounded before anything is allocated by it
// or read at it. It reads the headers when it is made, and the rest when it is requested; the
// kernel runs files with damaged sections, so these are an error only of ReadSections. Used by one
// thread; the source outlives it.
class ElfFile {
 public:
  // kCorrupt: no ELF file, or a damaged one.
  [[nodiscard]] static Result<ElfFile> Open(const ByteSource& source, const ElfLimits& limits = {});

  [[nodiscard]] const ByteSource& source() const { return *source_; }
  [[nodiscard]] const ElfLimits& limits() const { return limits_; }
  [[nodiscard]] const ElfHeader& header() const { return header_; }
  // A 64-bit x86 file.
  [[nodiscard]] bool IsX86_64() const;

  // In the order of the file.
  [[nodiscard]] const std::vector<ElfSegment>& segments() const { return segments_; }
  // The first of this type that is in the file; null when there is none.
  [[nodiscard]] const ElfSegment* FindSegment(std::uint32_t type) const;
  // The bytes from `vaddr` to the end of the PT_LOAD in the file that holds it.
  [[nodiscard]] std::optional<FilePart> PartAt(std::uint64_t vaddr) const;

  // Reads the section headers and their names; the first call does, later ones return the same.
  [[nodiscard]] Result<void> ReadSections();
  // None before ReadSections, or when the file has none.
  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  // The section that holds their names; null when they cannot be read.
  [[nodiscard]] const ElfSection* section_names() const {
    return section_names_.empty() ? nullptr : &sections_[names_index_];
  }
  // Cut to 64 bytes; "" when the names cannot be read.
  [[nodiscard]] std::string_view NameOf(const ElfSection& section) const;
  // The first of this name or type; null when there is none. By name only sections that have bytes
  // in the file.
  [[nodiscard]] const ElfSection* FindSection(std::string_view name) const;
  [[nodiscard]] const ElfSection* FindSection(std::uint32_t type) const;
  // The table of names that `section` is linked to, of at most limits.string_bytes. `what` is for
  // the message: "symbol names".
  [[nodiscard]] Result<std::string> ReadNames(const ElfSection& section, const char* what) const;

  // Hands over each entry of a symbol table but the first, which is empty. The names that they
  // index are ReadNames(table).
  using SymbolVisitor = std::function<void(const ElfSymbol& symbol)>;
  [[nodiscard]] Result<void> VisitSymbols(const ElfSection& table,
                                          const SymbolVisitor& visit) const;
  // Of a section of relocations with addends, of a 64-bit file, at most limits.symbols. What is
  // damaged or not of this kind has none.
  using RelocationVisitor = std::function<void(const ElfRelocation& relocation)>;
  void VisitRelocations(const ElfSection& table, const RelocationVisitor& visit) const;
  // Of a section of packed relative relocations (SHT_RELR), of a 64-bit file: the addresses that
  // they relocate, at most limits.symbols. What stands there is the pointer.
  void VisitPackedRelocations(const ElfSection& table,
                              const std::function<void(std::uint64_t vaddr)>& visit) const;

  // Of a compressed section that lies there.
  [[nodiscard]] Result<ElfCompression> ReadCompression(std::uint64_t offset,
                                                       std::uint64_t bytes) const;

  // Lower-case hex, from the segments or else the sections; "" when the notes hold none, or cannot
  // be read.
  [[nodiscard]] std::string BuildId() const;

 private:
  ElfFile(const ByteSource& source, const ElfLimits& limits) : source_(&source), limits_(limits) {}
  template <typename Class>
  [[nodiscard]] Result<void> ReadHeaders();
  template <typename Class>
  void ReadNumbersFromSectionZero(const typename Class::Ehdr& header);
  template <typename Class>
  [[nodiscard]] Result<void> ReadSegments(const typename Class::Ehdr& header);
  template <typename Class>
  [[nodiscard]] Result<void> ReadSectionTable();
  template <typename Class>
  [[nodiscard]] Result<void> VisitSymbolsOf(const ElfSection& table,
                                            const SymbolVisitor& visit) const;
  [[nodiscard]] const ElfSection* ExtendedIndexesOf(const ElfSection& table) const;
  [[nodiscard]] std::string BuildIdIn(std::uint64_t offset, std::uint64_t bytes,
                                      std::uint64_t align, std::uint64_t& bytes_left) const;
  [[nodiscard]] bool swaps() const;

  const ByteSource* source_;
  ElfLimits limits_;
  ElfHeader header_;
  std::uint64_t names_index_ = 0;   // of the section that holds the names of sections
  bool known_section_size_ = true;  // the file's section headers have the size of its class
  bool sections_read_ = false;
  std::vector<ElfSegment> segments_;
  std::vector<ElfSection> sections_;
  std::string section_names_;
};

}  // namespace profd::elf
