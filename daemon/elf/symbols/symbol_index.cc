#include "daemon/elf/symbols/symbol_index.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/elf/file/byte_window.h"

namespace profd::elf {
namespace {

constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kBlockEntries = 64;
constexpr std::size_t kMaxBlockNameBytes = kBlockEntries * (SymbolTable::kMaxNameBytes + 1);
constexpr std::size_t kSlices = 1u << 16;  // of the code; a part is a number of them

constexpr const char* kCannotWrite = "cannot write an index of its symbols";

Error Exhausted(const char* message) { return Error{ErrorCode::kExhausted, message, ""}; }

// Writes blocks one after the other.
class BlockWriter {
 public:
  BlockWriter(int fd, std::uint64_t max_bytes) : fd_(fd), max_bytes_(max_bytes) {}

  // Entries of `table` that begin in [begin, end).
  Result<void> Add(const SymbolTable& table, std::uint64_t begin, std::uint64_t end) {
    for (const SymbolTable::Entry& entry : table.entries()) {
      if (entry.begin < begin || entry.begin >= end) continue;
      SymbolTable::Entry& kept = entries_.emplace_back(entry);
      if (const std::string_view name = table.NameOf(entry); !name.empty()) {
        kept.name = static_cast<std::uint32_t>(names_.size());
        names_.append(name) += '\0';
      }
      if (entries_.size() == kBlockEntries) PROFD_TRY(Flush());
    }
    return Flush();  // entries of two tables may overlap, and those of a block must not
  }

  [[nodiscard]] std::vector<IndexBlock> Take() { return std::move(blocks_); }

 private:
  Result<void> Flush() {
    if (entries_.empty()) return {};
    const std::string_view entries(reinterpret_cast<const char*>(entries_.data()),
                                   entries_.size() * sizeof(SymbolTable::Entry));
    if (entries.size() + names_.size() > max_bytes_ - offset_)
      return Exhausted("an index of its symbols would be too large");
    blocks_.push_back({entries_.front().begin, offset_, static_cast<std::uint32_t>(entries_.size()),
                       static_cast<std::uint32_t>(names_.size())});
    PROFD_TRY(Write(entries));
    PROFD_TRY(Write(names_));
    entries_.clear();
    names_.clear();
    return {};
  }

  Result<void> Write(std::string_view bytes) {
    offset_ += bytes.size();
    const int error = WriteAll(fd_, bytes);
    return error == 0 ? Result<void>() : ErrorFromErrno(error, kCannotWrite);
  }

  const int fd_;
  const std::uint64_t max_bytes_;
  std::uint64_t offset_ = 0;
  std::vector<SymbolTable::Entry> entries_;
  std::string names_;
  std::vector<IndexBlock> blocks_;
};

// One index that is being written. The code is cut into slices of equal length, and as many of them
// as have few enough symbols are a part, whose SymbolTable is made in memory.
class Indexer {
 public:
  Indexer(const ElfFile& file, const ElfSection& table, const ElfSection& strings,
          const ElfContents& contents, const ElfLimits& limits)
      : file_(file),
        table_(table),
        strings_(strings),
        contents_(contents),
        part_symbols_(PartOf(table.bytes / std::max<std::uint64_t>(table.entry_bytes, 1),
                             limits.table_symbols, std::max<std::uint64_t>(limits.symbols, 1))),
        part_name_bytes_(PartOf(strings.bytes, limits.table_string_bytes, limits.string_bytes)) {}

  Result<std::vector<IndexBlock>> Run(BlockWriter writer) {
    FindCode();
    std::vector<std::uint32_t> counts(kSlices);
    PROFD_TRY(file_.VisitSymbols(table_, [&](const ElfSymbol& symbol) {
      if (const auto raw = Raw(symbol)) ++counts[SliceOf(raw->start)];
    }));
    std::uint64_t most = part_symbols_;
    for (std::size_t first = 0; first < kSlices;) {
      std::size_t end = first + 1;
      for (std::uint64_t sum = counts[first]; end < kSlices && sum + counts[end] <= most; ++end)
        sum += counts[end];
      const std::uint64_t begin_at = first == 0 ? 0 : code_begin_ + first * slice_bytes_;
      const std::uint64_t end_at = end == kSlices ? kForever : code_begin_ + end * slice_bytes_;
      const auto table = MakePart(begin_at, end_at);
      if (!table && table.error().code == ErrorCode::kExhausted && end > first + 1) {
        most = std::max<std::uint64_t>(most / 2, 1);
        continue;
      }
      if (!table) return table.error();
      PROFD_TRY(writer.Add(*table, begin_at, end_at));
      first = end;
    }
    return writer.Take();
  }

 private:
  // What a part holds at most: as much as a table in memory, and more where there would be too many
  // parts, as each reads all symbols.
  static std::uint64_t PartOf(std::uint64_t whole, std::uint64_t table, std::uint64_t most) {
    constexpr std::uint64_t kParts = 16;
    return std::min(std::max(table, whole / kParts), most);
  }

  [[nodiscard]] std::optional<RawSymbol> Raw(const ElfSymbol& symbol) const {
    return ToRawSymbol(file_, symbol, strings_.bytes);
  }

  void FindCode() {
    std::uint64_t begin = kForever;
    std::uint64_t end = 0;
    for (const ElfSection& section : file_.sections()) {
      if ((section.flags & SHF_EXECINSTR) == 0) continue;
      begin = std::min(begin, section.vaddr);
      end = std::max(end, section.vaddr_end());
    }
    code_begin_ = begin < end ? begin : 0;
    slice_bytes_ =
        std::max<std::uint64_t>((std::max(end, code_begin_) - code_begin_) / kSlices + 1, 16);
    // So that the end of the last slice is an address.
    code_begin_ = std::min(code_begin_, kForever - kSlices * slice_bytes_);
  }

  [[nodiscard]] std::size_t SliceOf(std::uint64_t vaddr) const {
    if (vaddr < code_begin_) return 0;
    return std::min<std::uint64_t>((vaddr - code_begin_) / slice_bytes_, kSlices - 1);
  }

  // What ends at `begin` counts: there a function around it goes on.
  [[nodiscard]] static bool ReachesTo(std::uint64_t begin, const RawSymbol& raw) {
    return raw.start + std::clamp<std::uint64_t>(raw.size, 1, ~raw.start) >= begin;
  }

  // The functions that reach into [begin, end).
  Result<SymbolTable> MakePart(std::uint64_t begin, std::uint64_t end) const {
    std::vector<RawSymbol> symbols;
    bool too_many = false;
    std::vector<std::uint64_t> before;  // where symbols begin that reach in
    const auto keep = [&](const RawSymbol& raw) {
      // Only where they lie on each other, as no compiler makes them.
      too_many = too_many || symbols.size() >= 2 * part_symbols_;
      if (!too_many) symbols.push_back(raw);
    };
    const auto add = [&](const RawSymbol& raw) {
      if (raw.start >= end || !ReachesTo(begin, raw)) return;
      if (raw.start < begin && !too_many) before.push_back(raw.start);
      keep(raw);
    };
    PROFD_TRY(file_.VisitSymbols(table_, [&](const ElfSymbol& symbol) {
      if (const auto raw = Raw(symbol)) add(*raw);
    }));
    // Which alias names what reaches in follows from all of them, also from those that do not.
    std::ranges::sort(before);
    if (!before.empty() && !too_many)
      PROFD_TRY(file_.VisitSymbols(table_, [&](const ElfSymbol& symbol) {
        const auto raw = Raw(symbol);
        if (raw && raw->start < begin && !ReachesTo(begin, *raw) &&
            std::ranges::binary_search(before, raw->start))
          keep(*raw);
      }));
    std::string pool;
    if (!too_many) too_many = !ReadNames(symbols, pool);
    for (RawSymbol stub : contents_.stubs) {
      const std::string_view name = contents_.names.c_str() + stub.name;
      stub.name = static_cast<std::uint32_t>(pool.size());
      const std::size_t known = symbols.size();
      add(stub);
      if (symbols.size() > known) pool.append(name) += '\0';
    }
    if (too_many) return Exhausted("too many symbols in one place");
    SymbolTable table(std::move(symbols), std::move(pool));
    const auto& functions = contents_.functions;
    const auto first = std::ranges::lower_bound(functions, begin, {}, &FunctionExtent::begin);
    const auto last = std::ranges::lower_bound(functions, end, {}, &FunctionExtent::begin);
    table.AddFunctions({first, last});
    return table;
  }

  // Copies the names of the symbols, in the order of the file. False: they are too long.
  bool ReadNames(std::vector<RawSymbol>& symbols, std::string& pool) const {
    std::ranges::sort(symbols, {}, &RawSymbol::name);
    ByteWindow window(file_.source());
    constexpr std::uint32_t kNone = 0xffffffff;
    std::uint32_t last = kNone;
    std::uint32_t last_at = 0;
    for (RawSymbol& symbol : symbols) {
      if (symbol.name != last) {
        last = symbol.name;
        last_at = static_cast<std::uint32_t>(pool.size());
        const std::uint64_t room = strings_.bytes - symbol.name;
        std::string_view name =
            window.At(strings_.offset + symbol.name,
                      std::min<std::uint64_t>(room, SymbolTable::kMaxNameBytes));
        name = name.substr(0, name.find('\0'));
        if (pool.size() + name.size() >= part_name_bytes_) return false;
        pool.append(name) += '\0';
      }
      symbol.name = last_at;
    }
    return true;
  }

  const ElfFile& file_;
  const ElfSection& table_;
  const ElfSection& strings_;
  const ElfContents& contents_;
  const std::uint64_t part_symbols_;
  const std::size_t part_name_bytes_;
  std::uint64_t code_begin_ = 0;
  std::uint64_t slice_bytes_ = 1;
};

}  // namespace

Result<std::vector<IndexBlock>> WriteSymbolIndex(const ByteSource& source,
                                                 const ElfContents& contents,
                                                 const ElfLimits& limits, int fd) {
  ElfLimits larger = limits;
  larger.symbols = limits.indexed_symbols;
  auto file = ElfFile::Open(source, larger);
  if (!file) return file.error();
  PROFD_TRY(file->ReadSections());
  const ElfSection* table = file->FindSection(SHT_SYMTAB);
  if (table == nullptr || table->link == 0 || table->link >= file->sections().size())
    return Error{ErrorCode::kCorrupt, "symbol table: no table of names", ""};
  const ElfSection& strings = file->sections()[table->link];
  PROFD_TRY(source.Check(strings.offset, strings.bytes));
  if (::lseek(fd, 0, SEEK_SET) != 0) return ErrorFromErrno(errno, kCannotWrite);
  return Indexer(*file, *table, strings, contents, limits).Run(BlockWriter(fd, limits.index_bytes));
}

Result<std::vector<IndexBlock>> WriteSymbolIndex(const SymbolTable& table, const ElfLimits& limits,
                                                 int fd) {
  if (::lseek(fd, 0, SEEK_SET) != 0) return ErrorFromErrno(errno, kCannotWrite);
  BlockWriter writer(fd, limits.index_bytes);
  PROFD_TRY(writer.Add(table, 0, kForever));
  return writer.Take();
}

Result<SymbolIndex> SymbolIndex::Open(std::shared_ptr<const UniqueFd> file,
                                      std::vector<IndexBlock> blocks) {
  std::uint64_t begin = 0;
  for (const IndexBlock& block : blocks) {
    if (block.begin < begin || block.entries > kBlockEntries ||
        block.name_bytes > kMaxBlockNameBytes)
      return Error{ErrorCode::kCorrupt, "an index of symbols that is not in order", ""};
    begin = block.begin;
  }
  return SymbolIndex(std::move(file), std::move(blocks));
}

std::optional<SymbolRange> SymbolIndex::Find(std::uint64_t vaddr) const {
  const auto after = std::ranges::upper_bound(blocks_, vaddr, {}, &IndexBlock::begin);
  if (after == blocks_.begin()) return std::nullopt;
  const IndexBlock* block = &*std::prev(after);
  if (read_of_ != block) {
    read_ = ReadBlock(*block);
    read_of_ = block;
  }
  return read_.Find(vaddr);
}

SymbolTable SymbolIndex::ReadBlock(const IndexBlock& block) const {
  std::vector<SymbolTable::Entry> entries(block.entries);
  std::string names(block.name_bytes, '\0');
  const std::span<char> entry_bytes(reinterpret_cast<char*>(entries.data()),
                                    entries.size() * sizeof(SymbolTable::Entry));
  constexpr const char* kWhat = "cannot read an index of symbols";
  const auto got = ReadAt(file_->get(), block.offset, entry_bytes, kWhat);
  const auto got_names = ReadAt(file_->get(), block.offset + entry_bytes.size(), names, kWhat);
  if (!got || *got != entry_bytes.size() || !got_names || *got_names != names.size()) return {};
  auto table = SymbolTable::FromParts(std::move(entries), std::move(names));
  return table ? *std::move(table) : SymbolTable();
}

std::size_t SymbolIndex::bytes() const {
  constexpr std::uint64_t kFileBytesAsOne = 128;
  const std::uint64_t file_bytes = blocks_.empty() ? 0 : blocks_.back().offset;
  return sizeof(*this) + blocks_.capacity() * sizeof(IndexBlock) + file_bytes / kFileBytesAsOne +
         read_.bytes();
}

}  // namespace profd::elf
