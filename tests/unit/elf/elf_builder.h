// ElfBuilder: makes small ELF files, right or wrong, of which every byte is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace profd::elf::testing {

struct BuiltSymbol {
  std::string name;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  unsigned bind = 1;  // STB_GLOBAL
  unsigned type = 2;  // STT_FUNC
  std::uint32_t section = 1;
};

// What the file is to be; every field may be given a nonsensical value. Sections: 0 null, 1 .text,
// 2 .data, 3 .symtab, 4 its names, 5 .dynsym, 6 its names, 7 .symtab_shndx, 8 note, then
// `extra_code_sections` of 16 bytes each from vaddr 0x100000 on.
struct ElfPlan {
  bool is_64 = true;
  bool big_endian = false;
  std::uint16_t type = 3;                                     // ET_DYN
  std::string build_id = "\x01\x23\x45\x67\x89\xab\xcd\xef";  // "" for none
  bool note_segment = true;
  bool note_section = false;
  bool section_headers = true;
  std::vector<BuiltSymbol> symtab;
  std::vector<BuiltSymbol> dynsym;
  std::uint32_t extra_code_sections = 0;
};

constexpr std::uint64_t kTextVaddr = 0x2000;
constexpr std::uint64_t kTextOffset = 0x1000;
constexpr std::uint64_t kTextBytes = 0x800;

[[nodiscard]] std::string BuildElf(const ElfPlan& plan);

// A plan with three functions: alpha [0x2000, 0x2010), beta [0x2020, 0x2040), gamma [0x2040,
// 0x2050)
[[nodiscard]] ElfPlan SmallPlan();

// Where things are in the 64-bit little-endian file that BuildElf makes, for tests that damage it.
constexpr std::size_t kShoffAt = 0x28;
constexpr std::size_t kPhentsizeAt = 0x36;
constexpr std::size_t kPhnumAt = 0x38;
constexpr std::size_t kShentsizeAt = 0x3a;
constexpr std::size_t kShnumAt = 0x3c;
[[nodiscard]] std::size_t SectionHeaderAt(const std::string& elf, std::size_t index);
// Writes `bytes` little-endian bytes of `value`.
void Patch(std::string& elf, std::size_t at, std::uint64_t value, std::size_t bytes);

}  // namespace profd::elf::testing
