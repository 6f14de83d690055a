#include "tests/unit/elf/elf_builder.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace profd::elf::testing {
namespace {

class Bytes {
 public:
  Bytes(bool is_64, bool big_endian) : is_64_(is_64), big_endian_(big_endian) {}

  void Number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::size_t shift = 8 * (big_endian_ ? bytes - 1 - i : i);
      data_ += static_cast<char>((value >> shift) & 0xff);
    }
  }
  void Half(std::uint64_t value) { Number(value, 2); }
  void Word(std::uint64_t value) { Number(value, 4); }
  // An address, offset or size of the file's class.
  void Long(std::uint64_t value) { Number(value, is_64_ ? 8 : 4); }
  void Raw(const std::string& raw) { data_ += raw; }
  void PadTo(std::size_t size) { data_.resize(std::max(size, data_.size())); }
  [[nodiscard]] std::size_t size() const { return data_.size(); }
  [[nodiscard]] const std::string& data() const { return data_; }

 private:
  const bool is_64_;
  const bool big_endian_;
  std::string data_;
};

struct Section {
  std::uint32_t type = SHT_NULL;
  std::uint64_t flags = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t link = 0;
  std::uint64_t entry_bytes = 0;
};

class Builder {
 public:
  explicit Builder(const ElfPlan& plan)
      : plan_(plan), out_(plan.is_64, plan.big_endian), sections_(9) {}

  std::string Build() {
    const std::size_t header_bytes = plan_.is_64 ? 64 : 52;
    const std::size_t segment_bytes = plan_.is_64 ? 56 : 32;
    const std::size_t note_at = header_bytes + 3 * segment_bytes;
    Bytes note = NewBytes();
    if (!plan_.build_id.empty()) {
      note.Word(4);
      note.Word(plan_.build_id.size());
      note.Word(NT_GNU_BUILD_ID);
      note.Raw(std::string("GNU\0", 4) + plan_.build_id);
    }
    Bytes body = NewBytes();
    body.PadTo(note_at);
    body.Raw(note.data());
    body.PadTo(kTextOffset + 16);
    sections_[1] = {SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kTextVaddr, kTextOffset, kTextBytes};
    sections_[2] = {SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x4000, kTextOffset, 0x100};
    AddSymbols(body, plan_.symtab, 3, SHT_SYMTAB);
    AddSymbols(body, plan_.dynsym, 5, SHT_DYNSYM);
    if (plan_.note_section) sections_[8] = {SHT_NOTE, SHF_ALLOC, note_at, note_at, note.size()};
    for (std::uint32_t i = 0; i < plan_.extra_code_sections; ++i) {
      sections_.push_back(
          {SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x100000 + std::uint64_t{i} * 16, 0, 16});
    }
    body.PadTo((body.size() + 7) / 8 * 8);
    const std::size_t sections_at = plan_.section_headers ? body.size() : 0;
    WriteHeader(sections_at);
    WriteSegment(PT_LOAD, PF_R | PF_X, kTextOffset, kTextVaddr, kTextBytes);
    WriteSegment(PT_LOAD, PF_R | PF_W, kTextOffset + kTextBytes, 0x4800, 0x100);
    WriteSegment(plan_.note_segment ? PT_NOTE : PT_NULL, PF_R, note_at, note_at, note.size());
    out_.Raw(body.data().substr(out_.size()));
    if (plan_.section_headers) WriteSections();
    return out_.data();
  }

 private:
  [[nodiscard]] Bytes NewBytes() const { return {plan_.is_64, plan_.big_endian}; }

  void AddSymbols(Bytes& body, const std::vector<BuiltSymbol>& symbols, std::uint32_t index,
                  std::uint32_t type) {
    if (symbols.empty()) return;
    Bytes table = NewBytes();
    Bytes extended = NewBytes();
    std::string names(1, '\0');
    const std::size_t entry_bytes = plan_.is_64 ? 24 : 16;
    table.PadTo(entry_bytes);
    extended.Word(0);
    bool any_extended = false;
    for (const BuiltSymbol& symbol : symbols) {
      const bool far = symbol.section >= SHN_LORESERVE && symbol.section > 0xffff;
      any_extended = any_extended || far;
      extended.Word(far ? symbol.section : 0);
      WriteSymbol(table, symbol, names.size(), far ? SHN_XINDEX : symbol.section);
      names += symbol.name + '\0';
    }
    body.PadTo((body.size() + 7) / 8 * 8);
    sections_[index] = {type, 0, 0, body.size(), table.size(), index + 1, entry_bytes};
    body.Raw(table.data());
    sections_[index + 1] = {SHT_STRTAB, 0, 0, body.size(), names.size()};
    body.Raw(names);
    if (!any_extended) return;
    body.PadTo((body.size() + 7) / 8 * 8);
    sections_[7] = {SHT_SYMTAB_SHNDX, 0, 0, body.size(), extended.size(), index, 4};
    body.Raw(extended.data());
  }

  void WriteSymbol(Bytes& table, const BuiltSymbol& symbol, std::size_t name,
                   std::uint32_t section) const {
    const std::uint64_t info = symbol.bind << 4 | symbol.type;
    table.Word(name);
    if (plan_.is_64) {
      table.Number(info, 1);
      table.Number(0, 1);
      table.Half(section);
      table.Long(symbol.value);
      table.Long(symbol.size);
    } else {
      table.Long(symbol.value);
      table.Long(symbol.size);
      table.Number(info, 1);
      table.Number(0, 1);
      table.Half(section);
    }
  }

  void WriteHeader(std::size_t sections_at) {
    out_.Raw(std::string("\x7f"
                         "ELF") +
             (plan_.is_64 ? '\2' : '\1') + (plan_.big_endian ? '\2' : '\1') + '\1' +
             std::string(9, '\0'));
    out_.Half(plan_.type);
    out_.Half(plan_.is_64 ? EM_X86_64 : EM_386);
    out_.Word(1);
    out_.Long(kTextVaddr);
    out_.Long(plan_.is_64 ? 64 : 52);
    out_.Long(sections_at);
    out_.Word(0);
    out_.Half(plan_.is_64 ? 64 : 52);
    out_.Half(plan_.is_64 ? 56 : 32);
    out_.Half(3);
    out_.Half(plan_.is_64 ? 64 : 40);
    const bool many = sections_.size() >= SHN_LORESERVE;
    out_.Half(!plan_.section_headers || many ? 0 : sections_.size());
    out_.Half(0);
    if (many) sections_[0].bytes = sections_.size();
  }

  void WriteSegment(std::uint32_t type, std::uint32_t flags, std::uint64_t offset,
                    std::uint64_t vaddr, std::uint64_t bytes) {
    out_.Word(type);
    if (plan_.is_64) out_.Word(flags);
    out_.Long(offset);
    out_.Long(vaddr);
    out_.Long(vaddr);
    out_.Long(bytes);
    out_.Long(bytes);
    if (!plan_.is_64) out_.Word(flags);
    out_.Long(4);
  }

  void WriteSections() {
    for (const Section& section : sections_) {
      out_.Word(0);
      out_.Word(section.type);
      out_.Long(section.flags);
      out_.Long(section.vaddr);
      out_.Long(section.offset);
      out_.Long(section.bytes);
      out_.Word(section.link);
      out_.Word(0);
      out_.Long(4);
      out_.Long(section.entry_bytes);
    }
  }

  const ElfPlan& plan_;
  Bytes out_;
  std::vector<Section> sections_;
};

}  // namespace

std::string BuildElf(const ElfPlan& plan) { return Builder(plan).Build(); }

ElfPlan SmallPlan() {
  ElfPlan plan;
  plan.symtab = {{"alpha", 0x2000, 0x10}, {"beta", 0x2020, 0x20}, {"gamma", 0x2040, 0x10}};
  return plan;
}

std::size_t SectionHeaderAt(const std::string& elf, std::size_t index) {
  std::uint64_t table = 0;
  std::memcpy(&table, elf.data() + kShoffAt, sizeof table);
  return table + index * 64;
}

void Patch(std::string& elf, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    elf.at(at + i) = static_cast<char>((value >> (8 * i)) & 0xff);
}

}  // namespace profd::elf::testing
