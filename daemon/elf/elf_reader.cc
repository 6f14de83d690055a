#include "daemon/elf/elf_reader.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/elf/elf_headers.h"
#include "daemon/elf/file_image.h"
#include "daemon/elf/symbol_table.h"
#include "daemon/elf/table_object.h"

namespace profd::elf {
namespace {

using ElfHandle = std::unique_ptr<Elf, int (*)(Elf*)>;

Error Corrupt(std::string message) { return Error{ErrorCode::kCorrupt, std::move(message), ""}; }
Error FromLibelf(const std::string& what) {
  const char* cause = elf_errmsg(-1);
  return Corrupt(what + ": " + (cause == nullptr ? "damaged" : cause));
}

// One reading of one file; lives as long as the call.
class Reader {
 public:
  Reader(FileImage image, const ElfLimits& limits)
      : image_(std::move(image)), limits_(limits), note_bytes_left_(limits.note_bytes) {}

  Result<ObjectRef> Read() {
    PROFD_TRY(FetchHeaders(image_, limits_));
    elf_version(EV_CURRENT);
    elf_.reset(elf_memory(image_.data(), image_.size()));
    if (!elf_ || elf_kind(elf_.get()) != ELF_K_ELF) return FromLibelf("ELF header");
    ObjectInfo info;
    PROFD_TRY(ReadSegments(info));
    PROFD_TRY(ReadSections());
    if (info.build_id.empty()) info.build_id = BuildIdInSections();
    SymbolTable symbols = ReadSymbols(info);
    return ObjectRef(std::make_shared<TableObject>(std::move(info), std::move(symbols)));
  }

 private:
  struct Section {
    std::uint32_t type = SHT_NULL;
    std::uint64_t link = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t align = 0;
    std::uint64_t entry_bytes = 0;
    std::uint64_t vaddr_end = 0;
    bool code = false;
    bool compressed = false;
  };

  Result<void> ReadSegments(ObjectInfo& info) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf_.get(), &count) != 0) return FromLibelf("program headers");
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_.get(), static_cast<int>(i), &header) == nullptr)
        return FromLibelf("program header");
      if (header.p_type == PT_LOAD) {
        info.segments.push_back(LoadSegment{header.p_offset, header.p_vaddr, header.p_filesz,
                                            (header.p_flags & PF_X) != 0});
      } else if (header.p_type == PT_NOTE && info.build_id.empty()) {
        info.build_id = BuildIdIn(header.p_offset, header.p_filesz, header.p_align);
      }
    }
    return {};
  }

  Result<void> ReadSections() {
    std::size_t count = 0;
    if (elf_getshdrnum(elf_.get(), &count) != 0) return FromLibelf("section headers");
    sections_.resize(std::min<std::size_t>(count, limits_.sections));
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      GElf_Shdr header;
      if (gelf_getshdr(elf_getscn(elf_.get(), i), &header) == nullptr)
        return FromLibelf("section header");
      Section& section = sections_[i];
      section.type = header.sh_type;
      section.link = header.sh_link;
      section.offset = header.sh_offset;
      section.bytes = header.sh_size;
      section.align = header.sh_addralign;
      section.entry_bytes = header.sh_entsize;
      section.vaddr_end = header.sh_addr + std::min(header.sh_size, ~header.sh_addr);
      section.code = (header.sh_flags & SHF_EXECINSTR) != 0;
      section.compressed = (header.sh_flags & SHF_COMPRESSED) != 0;
    }
    return {};
  }

  std::string BuildIdInSections() {
    for (const Section& section : sections_) {
      if (section.type != SHT_NOTE) continue;
      std::string id = BuildIdIn(section.offset, section.bytes, section.align);
      if (!id.empty()) return id;
    }
    return "";
  }

  // "" when these notes hold none, or cannot be read: a build id is a help, not a need.
  std::string BuildIdIn(std::uint64_t offset, std::uint64_t bytes, std::uint64_t align) {
    if (bytes < sizeof(GElf_Nhdr) || bytes > note_bytes_left_) return "";
    note_bytes_left_ -= bytes;
    if (!image_.Fetch(offset, bytes)) return "";
    Elf_Data* data = elf_getdata_rawchunk(elf_.get(), static_cast<std::int64_t>(offset), bytes,
                                          align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (data == nullptr) return "";
    GElf_Nhdr note;
    std::size_t name_at = 0;
    std::size_t desc_at = 0;
    std::size_t next = 0;
    while ((next = gelf_getnote(data, next, &note, &name_at, &desc_at)) > 0) {
      const char* start = static_cast<const char*>(data->d_buf);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof ELF_NOTE_GNU ||
          std::memcmp(start + name_at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0)
        continue;
      constexpr std::size_t kMaxIdBytes = 64;
      constexpr char kDigits[] = "0123456789abcdef";
      std::string id;
      for (std::size_t i = 0; i < std::min<std::size_t>(note.n_descsz, kMaxIdBytes); ++i) {
        const auto byte = static_cast<unsigned char>(start[desc_at + i]);
        id += kDigits[byte >> 4];
        id += kDigits[byte & 15];
      }
      return id;
    }
    return "";
  }

  SymbolTable ReadSymbols(ObjectInfo& info) {
    if (sections_.empty()) {
      info.symbols_missing = "no symbols: no section headers";
      return {};
    }
    std::string damage;
    for (const auto& [type, origin] : {std::pair{SHT_SYMTAB, SymbolOrigin::kSymtab},
                                       std::pair{SHT_DYNSYM, SymbolOrigin::kDynsym}}) {
      const auto found =
          std::ranges::find(sections_, static_cast<std::uint32_t>(type), &Section::type);
      if (found == sections_.end()) continue;
      Result<SymbolTable> table = ReadTable(static_cast<std::size_t>(found - sections_.begin()));
      if (!table) {
        if (damage.empty()) damage = table.error().message;
        continue;
      }
      if (table->size() == 0) continue;
      info.symbols_from = origin;
      info.symbols_missing = damage;
      if (damage.empty() && origin == SymbolOrigin::kDynsym)
        info.symbols_missing = "stripped: install its debug package";
      return std::move(table).value();
    }
    info.symbols_missing = damage.empty() ? "no symbols: install its debug package" : damage;
    return {};
  }

  Result<SymbolTable> ReadTable(std::size_t index) {
    const Section& table = sections_[index];
    const std::size_t entry_bytes = gelf_fsize(elf_.get(), ELF_T_SYM, 1, EV_CURRENT);
    if (table.entry_bytes != entry_bytes) return Corrupt("symbol table: entries of unknown size");
    if (table.compressed) return Corrupt("symbol table: compressed");
    const std::uint64_t count = table.bytes / entry_bytes;
    if (count > limits_.symbols) return BeyondBound("symbols", count, limits_.symbols);
    if (table.link == 0 || table.link >= sections_.size() ||
        sections_[table.link].type != SHT_STRTAB)
      return Corrupt("symbol table: no table of names");
    const Section& strings = sections_[table.link];
    if (strings.bytes > limits_.string_bytes)
      return BeyondBound("bytes of symbol names", strings.bytes, limits_.string_bytes);
    Elf_Data* entries = DataOf(index);
    if (entries == nullptr) return Corrupt("symbol table: outside the file");
    Result<std::string> names = image_.Copy(strings.offset, strings.bytes);
    if (!names) return names.error().Wrap("symbol names");
    Elf_Data* section_indexes = IndexTableOf(index);

    std::vector<RawSymbol> symbols;
    symbols.reserve(count);
    for (std::uint64_t i = 1; i < count; ++i) {
      GElf_Sym symbol;
      Elf32_Word extended = 0;
      if (gelf_getsymshndx(entries, section_indexes, static_cast<int>(i), &symbol, &extended) ==
          nullptr)
        return FromLibelf("symbol table");
      const auto raw = ToRaw(symbol, extended, names->size());
      // Where local functions are missing, a symbol without a size would reach over them.
      if (raw && (raw->size > 0 || table.type == SHT_SYMTAB)) symbols.push_back(*raw);
    }
    return SymbolTable(std::move(symbols), std::move(names).value());
  }

  // The contents of a section, fetched first; null when they are not inside the file.
  Elf_Data* DataOf(std::size_t index) {
    const Section& section = sections_[index];
    if (section.bytes > limits_.symbols * sizeof(Elf64_Sym)) return nullptr;
    if (!image_.Fetch(section.offset, section.bytes)) return nullptr;
    return elf_getdata(elf_getscn(elf_.get(), index), nullptr);
  }

  // Section numbers beyond 65,279 are in a table of their own.
  Elf_Data* IndexTableOf(std::size_t symbols) {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].type == SHT_SYMTAB_SHNDX && sections_[i].link == symbols) return DataOf(i);
    }
    return nullptr;
  }

  [[nodiscard]] std::optional<RawSymbol> ToRaw(const GElf_Sym& symbol, Elf32_Word extended,
                                               std::size_t name_bytes) const {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= name_bytes) return std::nullopt;
    const int type = GELF_ST_TYPE(symbol.st_info);
    const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    const bool local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL;
    // Local labels without a type are places inside functions, not functions.
    if (!function && (type != STT_NOTYPE || local)) return std::nullopt;
    RawSymbol raw;
    raw.start = symbol.st_value;
    raw.size = symbol.st_size;
    raw.name = symbol.st_name;
    raw.function = function;
    raw.bind = local                                      ? SymbolBind::kLocal
               : GELF_ST_BIND(symbol.st_info) == STB_WEAK ? SymbolBind::kWeak
                                                          : SymbolBind::kGlobal;
    const std::uint64_t section = symbol.st_shndx == SHN_XINDEX ? extended : symbol.st_shndx;
    const bool known = (symbol.st_shndx < SHN_LORESERVE || symbol.st_shndx == SHN_XINDEX) &&
                       section < sections_.size();
    if (!function && !(known && sections_[section].code)) return std::nullopt;
    if (known) raw.section_end = sections_[section].vaddr_end;
    return raw;
  }

  FileImage image_;
  const ElfLimits limits_;
  std::uint64_t note_bytes_left_;
  ElfHandle elf_{nullptr, elf_end};
  std::vector<Section> sections_;
};

}  // namespace

Result<ObjectRef> ReadElf(int fd, std::uint64_t file_bytes, const ElfLimits& limits) {
  Result<FileImage> image = FileImage::Create(fd, file_bytes);
  if (!image) return image.error();
  return Reader(std::move(image).value(), limits).Read();
}

Result<ObjectRef> ReadElf(std::span<const std::byte> bytes, const ElfLimits& limits) {
  Result<FileImage> image = FileImage::FromMemory(bytes);
  if (!image) return image.error();
  return Reader(std::move(image).value(), limits).Read();
}

}  // namespace profd::elf
