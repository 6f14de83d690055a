#include "daemon/elf/symbols/symbol_table.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace profd::elf {
namespace {

std::uint64_t EndOf(const RawSymbol& symbol) {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - symbol.start;
  return symbol.start + std::min(symbol.size, room);
}

bool Earlier(const RawSymbol& a, const RawSymbol& b) { return a.start < b.start; }

// Symbols from `first` on that start where it starts.
std::span<const RawSymbol> AliasesAt(std::span<const RawSymbol> sorted, std::size_t first) {
  std::size_t count = 1;
  while (first + count < sorted.size() && sorted[first + count].start == sorted[first].start)
    ++count;
  return sorted.subspan(first, count);
}

std::size_t LeadingUnderscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

}  // namespace

SymbolTable::SymbolTable(std::vector<RawSymbol> symbols, std::string pool)
    : pool_(std::move(pool)) {
  std::erase_if(symbols, [this](const RawSymbol& symbol) {
    return symbol.name >= pool_.size() || pool_[symbol.name] == '\0';
  });
  const auto sized_end =
      std::partition(symbols.begin(), symbols.end(),
                     [](const RawSymbol& symbol) { return symbol.function && symbol.size > 0; });
  std::sort(symbols.begin(), sized_end, Earlier);
  std::sort(sized_end, symbols.end(), Earlier);
  AddSized({symbols.begin(), sized_end});
  FillGaps({sized_end, symbols.end()});
  entries_.shrink_to_fit();
}

void SymbolTable::AddFunctions(std::span<const FunctionExtent> functions,
                               std::span<const VirtualFunction> names) {
  const std::vector<Entry> named = std::exchange(entries_, {});
  auto next = named.begin();
  auto name = names.begin();
  for (const FunctionExtent& function : functions) {
    while (name != names.end() && name->begin < function.begin) ++name;
    while (next != named.end() && next->begin + next->bytes <= function.begin)
      entries_.push_back(*next++);
    if (next != named.end() && next->begin <= function.begin) continue;
    const bool is_virtual = name != names.end() && name->begin == function.begin;
    Emit(function.begin, next == named.end() ? function.end : std::min(function.end, next->begin),
         is_virtual ? name->name : kNoName);
  }
  entries_.insert(entries_.end(), next, named.end());
  entries_.shrink_to_fit();
}

Result<SymbolTable> SymbolTable::FromParts(std::vector<Entry> entries, std::string names) {
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin < end || entry.begin + entry.bytes < entry.begin)
      return Error{ErrorCode::kCorrupt, "a table of symbols that is not in order", ""};
    end = entry.begin + entry.bytes;
  }
  SymbolTable table;
  table.entries_ = std::move(entries);
  table.pool_ = std::move(names);
  return table;
}

std::optional<SymbolRange> SymbolTable::Find(std::uint64_t vaddr) const {
  const auto after = std::ranges::upper_bound(entries_, vaddr, {}, &Entry::begin);
  if (after == entries_.begin()) return std::nullopt;
  const Entry& entry = *std::prev(after);
  if (vaddr - entry.begin >= entry.bytes) return std::nullopt;
  return SymbolRange{entry.begin, entry.begin + entry.bytes, NameAt(entry.name)};
}

std::string_view SymbolTable::NameAt(std::uint32_t offset) const {
  if (offset >= pool_.size()) return {};
  const std::string_view rest = std::string_view(pool_).substr(offset, kMaxNameBytes);
  std::string_view name = rest.substr(0, rest.find('\0'));
  // A version ("memcpy@@GLIBC_2.14") is no part of the name.
  if (const std::size_t version = name.find('@'); version != 0 && !name.ends_with("@plt"))
    name = name.substr(0, version);
  return name;
}

bool SymbolTable::Better(const RawSymbol& a, const RawSymbol& b) const {
  if (a.function != b.function) return a.function;
  const bool a_local = a.bind == SymbolBind::kLocal;
  const bool b_local = b.bind == SymbolBind::kLocal;
  if (a_local != b_local) return b_local;
  const std::string_view a_name = NameAt(a.name);
  const std::string_view b_name = NameAt(b.name);
  const std::size_t a_underscores = LeadingUnderscores(a_name);
  const std::size_t b_underscores = LeadingUnderscores(b_name);
  if (a_underscores != b_underscores) return a_underscores < b_underscores;
  if (a.bind != b.bind) return a.bind > b.bind;
  if (a_name.size() != b_name.size()) return a_name.size() < b_name.size();
  if (a_name != b_name) return a_name < b_name;
  return a.size > b.size;
}

void SymbolTable::Emit(std::uint64_t begin, std::uint64_t end, std::uint32_t name) {
  if (begin >= end) return;
  const std::uint64_t bytes = std::min<std::uint64_t>(end - begin, 0xffffffff);
  entries_.push_back(Entry{begin, static_cast<std::uint32_t>(bytes), name});
}

const RawSymbol& SymbolTable::BestOf(std::span<const RawSymbol> aliases) const {
  return *std::ranges::min_element(
      aliases, [this](const RawSymbol& a, const RawSymbol& b) { return Better(a, b); });
}

// One pass with a stack of the symbols that are open at `position`; the top one started last. A
// symbol that ends while others lie on it is dropped when it comes to the top.
void SymbolTable::AddSized(std::span<const RawSymbol> sorted) {
  struct Open {
    std::uint64_t end;
    std::uint32_t name;
  };
  std::vector<Open> open;
  std::uint64_t position = 0;
  const auto close_until = [&](std::uint64_t limit) {
    while (!open.empty() && open.back().end <= limit) {
      Emit(position, open.back().end, open.back().name);
      position = std::max(position, open.back().end);
      open.pop_back();
    }
  };
  for (std::size_t i = 0; i < sorted.size();) {
    const auto aliases = AliasesAt(sorted, i);
    i += aliases.size();
    const std::uint64_t start = aliases.front().start;
    close_until(start);
    if (!open.empty()) Emit(position, start, open.back().name);
    position = start;
    // Where the best name is not that of the longest alias, the longest has what is beyond it.
    const RawSymbol& best = BestOf(aliases);
    const RawSymbol& longest =
        *std::ranges::max_element(aliases, [this](const RawSymbol& a, const RawSymbol& b) {
          return a.size != b.size ? a.size < b.size : Better(b, a);
        });
    if (longest.size > best.size) open.push_back({EndOf(longest), longest.name});
    open.push_back({EndOf(best), best.name});
  }
  close_until(std::numeric_limits<std::uint64_t>::max());
}

void SymbolTable::FillGaps(std::span<const RawSymbol> sorted) {
  const std::vector<Entry> sized = std::exchange(entries_, {});
  entries_.reserve(sized.size() + sorted.size());
  auto next = sized.begin();
  for (std::size_t i = 0; i < sorted.size();) {
    const auto aliases = AliasesAt(sorted, i);
    i += aliases.size();
    const RawSymbol& best = BestOf(aliases);
    while (next != sized.end() && next->begin <= best.start) entries_.push_back(*next++);
    if (!entries_.empty() && best.start - entries_.back().begin < entries_.back().bytes) continue;
    std::uint64_t end = best.size > 0 ? EndOf(best) : best.section_end;
    if (next != sized.end()) end = std::min(end, next->begin);
    if (i < sorted.size()) end = std::min(end, sorted[i].start);
    Emit(best.start, end, best.name);
  }
  entries_.insert(entries_.end(), next, sized.end());
}

}  // namespace profd::elf
