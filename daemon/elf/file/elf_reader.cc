#include "daemon/elf/file/elf_reader.h"

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

#include "daemon/base/files.h"
#include "daemon/elf/file/elf_headers.h"
#include "daemon/elf/file/file_image.h"
#include "daemon/elf/file/plt.h"
#include "daemon/elf/file/symbol_table.h"
#include "daemon/elf/file/table_object.h"

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
  Reader(FileImage image, const ElfLimits& limits, ElfKind kind)
      : image_(std::move(image)),
        limits_(limits),
        kind_(kind),
        note_bytes_left_(limits.note_bytes) {}

  Result<ElfContents> Read() {
    PROFD_TRY(FetchHeaders(image_, limits_, kind_));
    elf_version(EV_CURRENT);
    elf_.reset(elf_memory(image_.data(), image_.size()));
    if (!elf_ || elf_kind(elf_.get()) != ELF_K_ELF) return FromLibelf("ELF header");
    ElfContents contents;
    PROFD_TRY(ReadSegments(contents.info));
    PROFD_TRY(ReadSections());
    if (contents.info.build_id.empty()) contents.info.build_id = BuildIdInSections();
    ReadSymbols(contents);
    ReadStubs(contents);
    ReadLinks(contents.links);
    return contents;
  }

 private:
  struct Section {
    std::uint32_t type = SHT_NULL;
    std::uint64_t link = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t align = 0;
    std::uint64_t entry_bytes = 0;
    std::uint64_t vaddr = 0;
    std::uint64_t vaddr_end = 0;
    std::string_view name;  // in section_names_
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
    std::vector<std::uint32_t> name_offsets;
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
      section.vaddr = header.sh_addr;
      section.vaddr_end = header.sh_addr + std::min(header.sh_size, ~header.sh_addr);
      section.code = (header.sh_flags & SHF_EXECINSTR) != 0;
      section.compressed = (header.sh_flags & SHF_COMPRESSED) != 0;
      name_offsets.push_back(header.sh_name);
    }
    NameSections(name_offsets);
    return {};
  }

  // Without names the file has neither links nor stubs; its symbols do not need them.
  void NameSections(const std::vector<std::uint32_t>& offsets) {
    std::size_t index = 0;
    if (elf_getshdrstrndx(elf_.get(), &index) != 0 || index >= sections_.size()) return;
    const Section& strings = sections_[index];
    if (strings.type != SHT_STRTAB || strings.bytes > limits_.string_bytes) return;
    Result<std::string> names = image_.Copy(strings.offset, strings.bytes);
    if (!names) return;
    section_names_ = std::move(names).value();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (offsets[i] < section_names_.size()) {
        constexpr std::size_t kMaxSectionName = 64;
        const auto rest = std::string_view(section_names_).substr(offsets[i], kMaxSectionName);
        sections_[i].name = rest.substr(0, rest.find('\0'));
      }
    }
  }

  [[nodiscard]] const Section* SectionNamed(std::string_view name) const {
    const auto found = std::ranges::find(sections_, name, &Section::name);
    return found == sections_.end() || found->type == SHT_NOBITS ? nullptr : &*found;
  }

  // A section that is small by its nature; "" when it is not there, or not plain.
  [[nodiscard]] std::string SmallSection(std::string_view name, std::uint64_t max_bytes) const {
    const Section* section = SectionNamed(name);
    if (section == nullptr || section->compressed || section->bytes > max_bytes) return "";
    Result<std::string> bytes = image_.Copy(section->offset, section->bytes);
    return bytes ? std::move(bytes).value() : "";
  }

  void ReadLinks(DebugLinks& links) {
    links.has_dwarf = SectionNamed(".debug_info") != nullptr;
    // name, zero bytes up to a multiple of 4, checksum
    const std::string link = SmallSection(".gnu_debuglink", limits_.note_bytes);
    const std::size_t name_end = link.find('\0');
    const std::size_t crc_at = name_end == std::string::npos ? 0 : (name_end + 4) / 4 * 4;
    if (crc_at != 0 && crc_at + sizeof links.debuglink_crc <= link.size()) {
      links.debuglink = link.substr(0, name_end);
      std::memcpy(&links.debuglink_crc, link.data() + crc_at, sizeof links.debuglink_crc);
    }
    const std::string alternate = SmallSection(".gnu_debugaltlink", limits_.note_bytes);
    if (const std::size_t end = alternate.find('\0'); end != std::string::npos) {
      links.alternate = alternate.substr(0, end);
      links.alternate_build_id = HexOf(std::string_view(alternate).substr(end + 1));
    }
    links.minidebug = SmallSection(".gnu_debugdata", limits_.minidebug_bytes);
  }

  static std::string HexOf(std::string_view bytes) {
    constexpr std::size_t kMaxIdBytes = 64;
    return HexBytes(bytes.substr(0, kMaxIdBytes));
  }

  struct Jump {
    std::uint64_t got = 0;
    std::uint64_t symbol = 0;  // number in .dynsym; 0: none
    std::uint64_t addend = 0;
  };

  // The relocations that fill entries of the global offset table.
  std::vector<Jump> JumpsOf(std::string_view section_name) {
    std::vector<Jump> jumps;
    const Section* section = SectionNamed(section_name);
    if (section == nullptr || section->type != SHT_RELA || section->compressed) return jumps;
    Elf_Data* data = DataOf(static_cast<std::size_t>(section - sections_.data()));
    const std::size_t count = data == nullptr ? 0 : data->d_size / sizeof(Elf64_Rela);
    for (std::size_t i = 0; i < std::min<std::size_t>(count, limits_.symbols); ++i) {
      GElf_Rela relocation;
      if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) break;
      const std::uint64_t type = GELF_R_TYPE(relocation.r_info);
      const bool fills =
          type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_IRELATIVE;
      // The place in .rela.plt counts, so what is not wanted stays with no symbol.
      jumps.push_back(fills ? Jump{relocation.r_offset, GELF_R_SYM(relocation.r_info),
                                   static_cast<std::uint64_t>(relocation.r_addend)}
                            : Jump{});
    }
    return jumps;
  }

  void ReadStubs(ElfContents& contents) {
    const auto dynsym =
        std::ranges::find(sections_, static_cast<std::uint32_t>(SHT_DYNSYM), &Section::type);
    if (gelf_getclass(elf_.get()) != ELFCLASS64 || dynsym == sections_.end() ||
        dynsym->link >= sections_.size())
      return;
    GElf_Ehdr header;
    if (gelf_getehdr(elf_.get(), &header) == nullptr || header.e_machine != EM_X86_64) return;
    const Section& strings = sections_[dynsym->link];
    Elf_Data* symbols = DataOf(static_cast<std::size_t>(dynsym - sections_.begin()));
    if (symbols == nullptr || strings.bytes > limits_.string_bytes) return;
    const Result<std::string> names = image_.Copy(strings.offset, strings.bytes);
    if (!names) return;
    const std::vector<Jump> by_index = JumpsOf(".rela.plt");
    std::vector<Jump> by_got = JumpsOf(".rela.dyn");
    by_got.insert(by_got.end(), by_index.begin(), by_index.end());
    std::ranges::sort(by_got, {}, &Jump::got);

    const auto name_of = [&](const Jump& jump) -> std::string {
      GElf_Sym symbol;
      if (jump.symbol == 0 || jump.symbol > limits_.symbols ||
          gelf_getsym(symbols, static_cast<int>(jump.symbol), &symbol) == nullptr ||
          symbol.st_name >= names->size())
        return "";
      return names->c_str() + symbol.st_name;
    };
    for (const std::string_view table : {".plt", ".plt.sec", ".plt.got"}) {
      const Section* section = SectionNamed(table);
      if (section == nullptr || section->compressed || section->bytes > limits_.stub_bytes)
        continue;
      const Result<std::string> code = image_.Copy(section->offset, section->bytes);
      if (!code) continue;
      const std::size_t step = section->entry_bytes == 8 ? 8 : 16;
      for (std::size_t at = 0; at + step <= code->size(); at += step) {
        const auto jump =
            DecodePltStub(std::string_view(*code).substr(at, step), section->vaddr + at);
        if (!jump) continue;
        std::string name;
        if (jump->by_index) {
          if (jump->place < by_index.size()) name = name_of(by_index[jump->place]);
        } else {
          const auto found = std::ranges::lower_bound(by_got, jump->place, {}, &Jump::got);
          if (found != by_got.end() && found->got == jump->place) name = name_of(*found);
        }
        if (name.empty() || contents.names.size() > limits_.string_bytes) continue;
        RawSymbol stub;
        stub.start = section->vaddr + at;
        stub.size = step;
        stub.section_end = section->vaddr_end;
        stub.name = static_cast<std::uint32_t>(contents.names.size());
        contents.names += name + "@plt";
        contents.names += '\0';
        contents.stubs.push_back(stub);
      }
    }
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
      return HexOf(std::string_view(start + desc_at, note.n_descsz));
    }
    return "";
  }

  void ReadSymbols(ElfContents& contents) {
    ObjectInfo& info = contents.info;
    if (sections_.empty()) {
      info.symbols_missing = "no symbols: no section headers";
      return;
    }
    std::string damage;
    for (const auto& [type, origin] : {std::pair{SHT_SYMTAB, SymbolOrigin::kSymtab},
                                       std::pair{SHT_DYNSYM, SymbolOrigin::kDynsym}}) {
      const auto found =
          std::ranges::find(sections_, static_cast<std::uint32_t>(type), &Section::type);
      if (found == sections_.end()) continue;
      const Result<void> table =
          ReadTable(static_cast<std::size_t>(found - sections_.begin()), contents);
      if (!table) {
        if (damage.empty()) damage = table.error().message;
        continue;
      }
      if (contents.symbols.empty()) continue;
      info.symbols_from = origin;
      info.symbols_missing = damage;
      if (damage.empty() && origin == SymbolOrigin::kDynsym)
        info.symbols_missing = "stripped: install its debug package";
      return;
    }
    info.symbols_missing = damage.empty() ? "no symbols: install its debug package" : damage;
  }

  Result<void> ReadTable(std::size_t index, ElfContents& contents) {
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
    symbols.reserve(std::min<std::uint64_t>(count, entries->d_size / entry_bytes));
    for (std::uint64_t i = 1; i < count; ++i) {
      GElf_Sym symbol;
      Elf32_Word extended = 0;
      if (gelf_getsymshndx(entries, section_indexes, static_cast<int>(i), &symbol, &extended) ==
          nullptr)
        return FromLibelf("symbol table");
      const auto raw = ToRaw(symbol, extended, names->size());
      // Where local functions are missing, a symbol without a size would reach over them.
      if (raw && (raw->size > 0 || table.type == SHT_SYMTAB) && (*names)[raw->name] != '\0')
        symbols.push_back(*raw);
    }
    contents.symbols = std::move(symbols);
    contents.names = std::move(names).value();
    contents.names += '\0';  // the last one may lack it, and more may follow
    return {};
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
  const ElfKind kind_;
  std::uint64_t note_bytes_left_;
  ElfHandle elf_{nullptr, elf_end};
  std::vector<Section> sections_;
  std::string section_names_;
};

}  // namespace

Result<ElfContents> ReadElfContents(int fd, std::uint64_t file_bytes, const ElfLimits& limits,
                                    ElfKind kind) {
  Result<FileImage> image = FileImage::Create(fd, file_bytes);
  if (!image) return image.error();
  return Reader(std::move(image).value(), limits, kind).Read();
}

Result<ElfContents> ReadElfContents(std::span<const std::byte> bytes, const ElfLimits& limits) {
  Result<FileImage> image = FileImage::FromMemory(bytes);
  if (!image) return image.error();
  return Reader(std::move(image).value(), limits, ElfKind::kLoadable).Read();
}

void AddSymbols(ElfContents& contents, const std::vector<RawSymbol>& more,
                const std::string& names) {
  const std::size_t base = contents.names.size();
  if (base + names.size() > std::numeric_limits<std::uint32_t>::max()) return;
  contents.names += names;
  contents.names += '\0';
  for (RawSymbol symbol : more) {
    symbol.name += static_cast<std::uint32_t>(base);
    contents.symbols.push_back(symbol);
  }
}

ObjectRef MakeObject(ElfContents contents) {
  contents.symbols.insert(contents.symbols.end(), contents.stubs.begin(), contents.stubs.end());
  return std::make_shared<TableObject>(
      std::move(contents.info),
      SymbolTable(std::move(contents.symbols), std::move(contents.names)));
}

Result<ObjectRef> ReadElf(int fd, std::uint64_t file_bytes, const ElfLimits& limits) {
  Result<ElfContents> contents = ReadElfContents(fd, file_bytes, limits);
  if (!contents) return contents.error();
  return MakeObject(std::move(contents).value());
}

Result<ObjectRef> ReadElf(std::span<const std::byte> bytes, const ElfLimits& limits) {
  Result<ElfContents> contents = ReadElfContents(bytes, limits);
  if (!contents) return contents.error();
  return MakeObject(std::move(contents).value());
}

}  // namespace profd::elf
