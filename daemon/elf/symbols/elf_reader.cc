#include "daemon/elf/symbols/elf_reader.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/files.h"
#include "daemon/elf/symbols/plt.h"
#include "daemon/elf/symbols/symbol_table.h"
#include "daemon/elf/symbols/table_object.h"

namespace profd::elf {
namespace {

// One reading of one file; lives as long as the call.
class Reader {
 public:
  explicit Reader(ElfFile file) : file_(std::move(file)) {}

  Result<ElfContents> Read(ElfKind kind) {
    const std::uint16_t type = file_.header().type;
    if (kind == ElfKind::kLoadable && type != ET_EXEC && type != ET_DYN)
      return Error{ErrorCode::kCorrupt, "neither a program nor a shared library", ""};
    PROFD_TRY(file_.ReadSections());
    ElfContents contents;
    contents.info.segments = LoadSegmentsOf(file_);
    contents.info.build_id = file_.BuildId();
    if (kind == ElfKind::kLoadable) contents.functions = ReadFunctionExtents(file_);
    ReadSymbols(contents);
    if (kind == ElfKind::kLoadable && contents.info.symbols_from != SymbolOrigin::kSymtab &&
        !contents.large_symtab)
      contents.virtual_functions = FindVirtualFunctions(file_, contents.functions, contents.names);
    ReadStubs(contents);
    ReadLinks(contents.links);
    return contents;
  }

 private:
  // A section that is small by its nature; "" when it is not there, or not plain.
  [[nodiscard]] std::string SmallSection(std::string_view name, std::uint64_t max_bytes) const {
    const ElfSection* section = file_.FindSection(name);
    if (section == nullptr || section->compressed() || section->bytes > max_bytes) return "";
    Result<std::string> bytes = file_.source().Copy(section->offset, section->bytes);
    return bytes ? std::move(bytes).value() : "";
  }

  void ReadLinks(DebugLinks& links) {
    links.has_dwarf = file_.FindSection(".debug_info") != nullptr;
    // name, zero bytes up to a multiple of 4, checksum
    const std::string link = SmallSection(".gnu_debuglink", file_.limits().note_bytes);
    const std::size_t name_end = link.find('\0');
    const std::size_t crc_at = name_end == std::string::npos ? 0 : (name_end + 4) / 4 * 4;
    if (crc_at != 0 && crc_at + sizeof links.debuglink_crc <= link.size()) {
      links.debuglink = link.substr(0, name_end);
      std::memcpy(&links.debuglink_crc, link.data() + crc_at, sizeof links.debuglink_crc);
    }
    const std::string alternate = SmallSection(".gnu_debugaltlink", file_.limits().note_bytes);
    if (const std::size_t end = alternate.find('\0'); end != std::string::npos) {
      constexpr std::size_t kMaxIdBytes = 64;
      links.alternate = alternate.substr(0, end);
      links.alternate_build_id = HexBytes(std::string_view(alternate).substr(end + 1, kMaxIdBytes));
    }
    links.minidebug = SmallSection(".gnu_debugdata", file_.limits().minidebug_bytes);
  }

  struct Jump {
    std::uint64_t got = 0;
    std::uint32_t symbol = 0;  // number in .dynsym; 0: none
  };

  // The relocations that fill entries of the global offset table.
  std::vector<Jump> JumpsOf(std::string_view section_name) const {
    std::vector<Jump> jumps;
    const ElfSection* section = file_.FindSection(section_name);
    if (section == nullptr) return jumps;
    file_.VisitRelocations(*section, [&](const ElfRelocation& relocation) {
      const bool fills = relocation.type == R_X86_64_JUMP_SLOT ||
                         relocation.type == R_X86_64_GLOB_DAT ||
                         relocation.type == R_X86_64_IRELATIVE;
      // The place in .rela.plt counts, so what is not wanted stays with no symbol.
      jumps.push_back(fills ? Jump{relocation.offset, relocation.symbol} : Jump{});
    });
    return jumps;
  }

  // Of each symbol of .dynsym where its name begins.
  std::vector<std::uint32_t> NamesOf(const ElfSection& dynsym) const {
    std::vector<std::uint32_t> names(1);
    const auto read =
        file_.VisitSymbols(dynsym, [&](const ElfSymbol& symbol) { names.push_back(symbol.name); });
    if (!read) names.clear();
    return names;
  }

  void ReadStubs(ElfContents& contents) {
    const ElfSection* dynsym = file_.FindSection(SHT_DYNSYM);
    if (!file_.IsX86_64() || dynsym == nullptr) return;
    const Result<std::string> names = file_.ReadNames(*dynsym, "symbol names");
    if (!names) return;
    const std::vector<std::uint32_t> name_at = NamesOf(*dynsym);
    const std::vector<Jump> by_index = JumpsOf(".rela.plt");
    std::vector<Jump> by_got = JumpsOf(".rela.dyn");
    by_got.insert(by_got.end(), by_index.begin(), by_index.end());
    std::ranges::sort(by_got, {}, &Jump::got);

    const auto name_of = [&](const Jump& jump) -> std::string {
      if (jump.symbol == 0 || jump.symbol >= name_at.size() ||
          name_at[jump.symbol] >= names->size())
        return "";
      return names->c_str() + name_at[jump.symbol];
    };
    for (const std::string_view table : {".plt", ".plt.sec", ".plt.got"}) {
      const ElfSection* section = file_.FindSection(table);
      if (section == nullptr || section->compressed() || section->bytes > file_.limits().stub_bytes)
        continue;
      const Result<std::string> code = file_.source().Copy(section->offset, section->bytes);
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
        if (name.empty() || contents.names.size() > file_.limits().string_bytes) continue;
        RawSymbol stub;
        stub.start = section->vaddr + at;
        stub.size = step;
        stub.section_end = section->vaddr_end();
        stub.name = static_cast<std::uint32_t>(contents.names.size());
        contents.names += name + "@plt";
        contents.names += '\0';
        contents.stubs.push_back(stub);
      }
    }
  }

  void ReadSymbols(ElfContents& contents) {
    ObjectInfo& info = contents.info;
    if (file_.sections().empty()) {
      info.symbols_missing = "no symbols: no section headers";
      return;
    }
    std::string damage;
    for (const auto& [type, origin] : {std::pair{SHT_SYMTAB, SymbolOrigin::kSymtab},
                                       std::pair{SHT_DYNSYM, SymbolOrigin::kDynsym}}) {
      const ElfSection* found = file_.FindSection(static_cast<std::uint32_t>(type));
      if (found == nullptr) continue;
      const bool symtab = type == SHT_SYMTAB;
      const Result<void> table = symtab && IsLarge(*found)
                                     ? Error{ErrorCode::kExhausted, "its symbol table is large", ""}
                                     : ReadTable(*found, contents);
      if (!table) {
        contents.large_symtab =
            contents.large_symtab || (symtab && table.error().code == ErrorCode::kExhausted);
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

  // Within the limits, but for an index.
  [[nodiscard]] bool IsLarge(const ElfSection& table) const {
    const ElfLimits& limits = file_.limits();
    const auto& sections = file_.sections();
    const std::uint64_t names = table.link < sections.size() ? sections[table.link].bytes : 0;
    const std::uint64_t symbols = table.bytes / std::max<std::uint64_t>(table.entry_bytes, 1);
    return symbols <= limits.symbols && names <= limits.string_bytes &&
           (symbols > limits.table_symbols || names > limits.table_string_bytes);
  }

  Result<void> ReadTable(const ElfSection& table, ElfContents& contents) {
    Result<std::string> names = file_.ReadNames(table, "symbol names");
    std::vector<RawSymbol> symbols;
    const Result<void> read = file_.VisitSymbols(table, [&](const ElfSymbol& symbol) {
      if (!names) return;
      auto raw = ToRawSymbol(file_, symbol, names->size());
      if (!raw || (*names)[raw->name] == '\0') return;
      if (raw->size == 0 && table.type != SHT_SYMTAB) {
        // Where local functions are missing, it would reach over them.
        const FunctionExtent* function = FunctionAt(contents.functions, raw->start);
        if (function == nullptr) return;
        raw->size = function->end - raw->start;
      }
      symbols.push_back(*raw);
    });
    if (!read) return read.error();
    if (!names) return names.error();
    contents.symbols = std::move(symbols);
    contents.names = std::move(names).value();
    contents.names += '\0';  // the last one may lack it, and more may follow
    return {};
  }

  ElfFile file_;
};

}  // namespace

Result<ElfContents> ReadElfContents(const ByteSource& source, const ElfLimits& limits,
                                    ElfKind kind) {
  Result<ElfFile> file = ElfFile::Open(source, limits);
  if (!file) return file.error();
  return Reader(std::move(file).value()).Read(kind);
}

std::optional<RawSymbol> ToRawSymbol(const ElfFile& file, const ElfSymbol& symbol,
                                     std::size_t name_bytes) {
  if (symbol.section == SHN_UNDEF || symbol.name >= name_bytes) return std::nullopt;
  const bool function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
  const bool local = symbol.bind == STB_LOCAL;
  // Local labels without a type are places inside functions, not functions.
  if (!function && (symbol.type != STT_NOTYPE || local)) return std::nullopt;
  RawSymbol raw;
  raw.start = symbol.value;
  raw.size = symbol.size;
  raw.name = symbol.name;
  raw.function = function;
  raw.bind = local                     ? SymbolBind::kLocal
             : symbol.bind == STB_WEAK ? SymbolBind::kWeak
                                       : SymbolBind::kGlobal;
  const auto& sections = file.sections();
  const bool known = symbol.section < sections.size();
  const bool code = known && (sections[symbol.section].flags & SHF_EXECINSTR) != 0;
  if (!function && !code) return std::nullopt;
  if (known) raw.section_end = sections[symbol.section].vaddr_end();
  return raw;
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

SymbolTable MakeSymbols(ElfContents& contents) {
  contents.symbols.insert(contents.symbols.end(), contents.stubs.begin(), contents.stubs.end());
  SymbolTable table(std::move(contents.symbols), std::move(contents.names));
  table.AddFunctions(contents.functions, contents.virtual_functions);
  return table;
}

ObjectRef MakeObject(ElfContents contents) {
  SymbolTable symbols = MakeSymbols(contents);
  return std::make_shared<TableObject>(std::move(contents.info), std::move(symbols));
}

Result<ObjectRef> ReadElf(const ByteSource& source, const ElfLimits& limits) {
  Result<ElfContents> contents = ReadElfContents(source, limits);
  if (!contents) return contents.error();
  return MakeObject(std::move(contents).value());
}

}  // namespace profd::elf
