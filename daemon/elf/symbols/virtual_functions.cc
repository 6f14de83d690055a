#include "daemon/elf/symbols/virtual_functions.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/elf/file/byte_window.h"
#include "daemon/elf/symbols/data_words.h"
#include "daemon/elf/symbols/symbol_table.h"
#include "daemon/elf/symbols/word_references.h"

namespace profd::elf {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;
constexpr std::size_t kMaxBases = 64;       // of one class
constexpr std::size_t kMaxAncestors = 256;  // of one class
constexpr std::uint64_t kMaxSteps = 50'000'000;
constexpr std::int64_t kMaxOffset = 1 << 24;                            // of a base in its class
constexpr std::size_t kMaxNamedBases = 8;                               // of one class
constexpr std::size_t kMaxTypeBytes = SymbolTable::kMaxNameBytes - 64;  // a place follows
constexpr std::size_t kHeaderWords = 2;  // of a type: its own type, its name

struct Base {
  std::uint32_t type = kNone;  // kNone: in another file
  bool first = false;          // at offset 0 of its class, and not virtual
};

struct Type {
  std::uint32_t name = 0;  // address
  std::uint32_t first_base = 0;
  std::uint32_t bases = 0;
  std::uint32_t places = 0;  // in its own vtable; 0: that is not in this file
};

// A function in a vtable.
struct Entry {
  std::uint32_t function = 0;  // address
  std::uint32_t type = 0;
  std::uint32_t place = 0;
  std::int32_t offset = 0;  // of the base that the vtable is for, in its class
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

class Finder {
 public:
  Finder(const ElfFile& file, std::span<const FunctionExtent> functions, DataWords words)
      : file_(file), functions_(functions), words_(std::move(words)), texts_(file.source()) {}

  std::vector<VirtualFunction> Run(std::string& names) {
    std::vector<VirtualFunction> found;
    if (!FindTypes() || !FindVtables()) return found;
    DropPlacesThatHeirsLack();
    std::ranges::sort(entries_);
    for (std::size_t first = 0; first < entries_.size() && steps_ < kMaxSteps;) {
      std::size_t end = first + 1;
      while (end < entries_.size() && entries_[end].function == entries_[first].function) ++end;
      const auto chosen = Choose(std::span(entries_).subspan(first, end - first));
      first = end;
      if (!chosen) continue;
      const std::string name = NameOf(*chosen);
      if (name.empty()) continue;
      if (names.size() + name.size() >= file_.limits().string_bytes) break;
      found.push_back({chosen->function, static_cast<std::uint32_t>(names.size())});
      names.append(name) += '\0';
    }
    return found;
  }

 private:
  [[nodiscard]] std::uint32_t TypeAt(std::uint32_t word) const {
    const auto index =
        word == 0 || word >= DataWords::kFirstMark ? std::nullopt : words_.IndexOf(word);
    if (!index) return kNone;
    const auto found = std::ranges::lower_bound(type_words_, *index);
    return found == type_words_.end() || *found != *index
               ? kNone
               : static_cast<std::uint32_t>(found - type_words_.begin());
  }

  // The objects that describe types: a pointer to one of three vtables, the name, the bases.
  bool FindTypes() {
    std::vector<TypeKind> kinds;
    for (std::size_t i = 0; i + kHeaderWords <= words_.size(); ++i) {
      const std::uint32_t word = words_[i];
      const std::uint32_t name = words_[i + 1];
      if (word <= DataWords::kFirstMark || word == DataWords::kImported || name == 0 ||
          name >= DataWords::kFirstMark || i + kHeaderWords > words_.EndOf(i))
        continue;
      kinds.push_back(static_cast<TypeKind>(word - DataWords::kFirstMark));
      type_words_.push_back(i);
      types_.push_back({.name = name});
    }
    type_ends_.reserve(types_.size());
    for (std::size_t i = 0; i < types_.size(); ++i) {
      types_[i].first_base = static_cast<std::uint32_t>(bases_.size());
      type_ends_.push_back(ReadBases(type_words_[i], kinds[i]));
      types_[i].bases = static_cast<std::uint32_t>(bases_.size()) - types_[i].first_base;
    }
    return !types_.empty();
  }

  // Returns the index behind the type.
  std::size_t ReadBases(std::size_t at, TypeKind kind) {
    const std::size_t end = words_.EndOf(at);
    at += kHeaderWords;
    if (kind == TypeKind::kClass || at >= end) return at;
    if (kind == TypeKind::kSingleBase) {
      bases_.push_back({TypeAt(words_[at]), true});
      return at + 1;
    }
    // Flags and the number of bases; then of each its type, and its offset with flags.
    constexpr unsigned kHalf = 32;
    const std::uint64_t count = words_.NumberAt(at++) >> kHalf;
    if (count > kMaxBases || 2 * count > end - at) {
      bases_.push_back({});
      return at;
    }
    for (std::uint64_t i = 0; i < count; ++i, at += 2) {
      constexpr std::uint64_t kVirtual = 1;
      constexpr unsigned kFlags = 8;
      const std::uint64_t place = words_.NumberAt(at + 1);
      bases_.push_back({TypeAt(words_[at]), (place & kVirtual) == 0 && place >> kFlags == 0});
    }
    return at;
  }

  // More executable segments than a linker makes have no vtables.
  void FindCode() {
    constexpr std::size_t kMost = 8;
    for (const ElfSegment& segment : file_.segments())
      if (segment.type == PT_LOAD && segment.executable && code_.size() < kMost)
        code_.push_back(
            {segment.vaddr, segment.vaddr + std::min(segment.file_bytes, ~segment.vaddr)});
  }
  [[nodiscard]] bool IsCode(std::uint32_t word) const {
    return word != 0 && word < DataWords::kFirstMark &&
           std::ranges::any_of(code_, [&](const FunctionExtent& code) {
             return word >= code.begin && word < code.end;
           });
  }
  [[nodiscard]] bool IsFunction(std::uint32_t word) const {
    return word == DataWords::kImported || IsCode(word);
  }

  // Places without a function, before one: the destructors of an abstract class, and pure virtual
  // functions of a program without a library.
  std::size_t HolesAt(std::size_t at, std::size_t first, std::size_t end,
                      const std::vector<bool>& referenced) {
    constexpr std::size_t kMost = 8;
    std::size_t holes = 0;
    const auto is_inside = [&](std::size_t index) {
      return index < end && (index == first || !referenced[index]);
    };
    while (holes < kMost && is_inside(at + holes) && words_[at + holes] == 0 &&
           words_.NumberAt(at + holes) == 0)
      ++holes;
    return is_inside(at + holes) && IsFunction(words_[at + holes]) ? holes : 0;
  }

  // The offset of the vtable's base in its class, its type, then functions. False: too many.
  bool FindVtables() {
    FindCode();
    const std::vector<bool> referenced = FindReferencedWords(file_, words_);
    if (referenced.size() != words_.size()) return false;
    std::size_t next_type = 0;
    for (std::size_t i = 1; i < words_.size(); ++i) {
      // Types point to types, too.
      while (next_type < types_.size() && type_ends_[next_type] <= i) ++next_type;
      if (next_type < types_.size() && type_words_[next_type] <= i) continue;
      const std::uint32_t type = TypeAt(words_[i]);
      if (type == kNone || words_[i - 1] != 0 || words_.EndOf(i - 1) <= i) continue;
      const auto to_top = static_cast<std::int64_t>(words_.NumberAt(i - 1));
      if (to_top > 0 || to_top < -kMaxOffset || to_top % 8 != 0) continue;
      const std::size_t end = words_.EndOf(i);
      const std::size_t first = i + 1;
      std::size_t at = first;
      while (at < end) {
        if (!IsFunction(words_[at])) {
          const std::size_t holes = HolesAt(at, first, end, referenced);
          if (holes == 0) break;
          at += holes;
        }
        // A table of functions that is no vtable, and lies behind it.
        if (at > first && referenced[at]) break;
        const FunctionExtent* function = FunctionAt(functions_, words_[at]);
        if (function != nullptr && function->begin == words_[at]) {
          if (entries_.size() >= 2 * file_.limits().symbols) return false;
          entries_.push_back({words_[at], type, static_cast<std::uint32_t>(at - first),
                              static_cast<std::int32_t>(-to_top)});
        }
        ++at;
      }
      if (to_top == 0)
        types_[type].places = std::max(types_[type].places, static_cast<std::uint32_t>(at - first));
      i = std::max(i, at - 1);
    }
    return true;
  }

  // The vtable of a class begins with that of its base. What seems to be more in the base's is a
  // table behind it that nothing uses.
  void DropPlacesThatHeirsLack() {
    for (std::uint32_t type = 0; type < types_.size(); ++type) {
      const std::uint32_t places = types_[type].places;
      if (places == 0) continue;
      for (const std::uint32_t base : FirstBasesOf(type))
        types_[base].places = std::min(types_[base].places, places);
    }
    std::erase_if(entries_, [this](const Entry& entry) {
      return entry.offset == 0 && entry.place >= types_[entry.type].places;
    });
  }

  // Of one function: whose name it gets, and which place.
  std::optional<Entry> Choose(std::span<const Entry> entries) {
    // One for each class, of its own vtable if the function is there.
    std::vector<Entry> classes;
    for (const Entry& entry : entries) {
      ++steps_;
      if (classes.empty() || classes.back().type != entry.type) {
        classes.push_back(entry);
        continue;
      }
      Entry& same = classes.back();
      const bool same_place = same.place == entry.place && same.offset == entry.offset;
      if (same.offset != 0 && entry.offset == 0)
        same = entry;
      else if (!same_place && (same.offset == 0) == (entry.offset == 0))
        return std::nullopt;
    }
    if (classes.size() == 1) return classes.front();
    const std::uint32_t place = classes.front().place;
    for (const Entry& entry : classes)
      if (entry.place != place) return std::nullopt;
    if (const auto heir = FindInherited(classes)) return heir;
    return FindFolded(classes);
  }

  // The class that all others derive from.
  std::optional<Entry> FindInherited(const std::vector<Entry>& classes) {
    std::vector<std::uint32_t> common = AncestorsOf(classes.front().type);
    for (const Entry& entry : classes) {
      const std::vector<std::uint32_t> its = AncestorsOf(entry.type);
      std::erase_if(common,
                    [&](std::uint32_t type) { return !std::ranges::binary_search(its, type); });
      if (common.empty()) return std::nullopt;
    }
    for (const Entry& entry : classes)
      if (entry.offset == 0 && std::ranges::binary_search(common, entry.type)) return entry;
    return std::nullopt;
  }

  // The base that has added the place to the vtable that all share.
  std::optional<Entry> FindFolded(const std::vector<Entry>& classes) {
    std::vector<std::uint32_t> common;  // from the class to the base
    for (const Entry& entry : classes) {
      if (entry.offset != 0) return std::nullopt;
      const std::vector<std::uint32_t> its = FirstBasesOf(entry.type);
      if (&entry == &classes.front())
        common = its;
      else
        std::erase_if(
            common, [&](std::uint32_t type) { return std::ranges::find(its, type) == its.end(); });
      if (common.empty()) return std::nullopt;
    }
    Entry entry = classes.front();
    const auto has_place = [&](std::uint32_t type) { return types_[type].places > entry.place; };
    const auto base = std::find_if(common.rbegin(), common.rend(), has_place);
    if (base == common.rend()) return std::nullopt;
    entry.type = *base;
    return entry;
  }

  // With itself, ascending. Empty: more than is bearable.
  std::vector<std::uint32_t> AncestorsOf(std::uint32_t type) {
    if (steps_ >= kMaxSteps) return {};
    std::vector<std::uint32_t> all{type};
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const Base& base : BasesOf(all[i])) {
        steps_ += all.size();
        if (base.type == kNone || std::ranges::find(all, base.type) != all.end()) continue;
        if (all.size() >= kMaxAncestors) return {};
        all.push_back(base.type);
      }
    }
    std::ranges::sort(all);
    return all;
  }

  // With itself: those whose vtable the class's own begins with. Empty: not all are known.
  std::vector<std::uint32_t> FirstBasesOf(std::uint32_t type) {
    if (steps_ >= kMaxSteps) return {};
    std::vector<std::uint32_t> chain{type};
    for (;;) {
      std::uint32_t next = kNone;
      for (const Base& base : BasesOf(chain.back())) {
        ++steps_;
        if (base.type == kNone) return {};
        if (!base.first || types_[base.type].places == 0) continue;
        if (next != kNone) return {};
        next = base.type;
      }
      if (next == kNone) return chain;
      if (chain.size() >= kMaxAncestors) return {};
      chain.push_back(next);
    }
  }

  [[nodiscard]] std::span<const Base> BasesOf(std::uint32_t type) const {
    return std::span(bases_).subspan(types_[type].first_base, types_[type].bases);
  }

  // Those at the begin of the class, from the first one on; none of virtual inheritance. Those of
  // other files are left out.
  std::vector<std::uint32_t> BasesAtBegin(std::uint32_t type) {
    std::vector<std::uint32_t> all{type};
    for (std::size_t i = 0; i < all.size() && all.size() < kMaxNamedBases; ++i)
      for (const Base& base : BasesOf(all[i])) {
        ++steps_;
        if (base.first && base.type != kNone && std::ranges::find(all, base.type) == all.end())
          all.push_back(base.type);
      }
    all.erase(all.begin());
    std::ranges::reverse(all);
    return all;
  }

  // "" if the name is none.
  std::string NameOf(const Entry& entry) {
    std::string name = TypeName(entry.type);
    if (name.empty()) return "";
    name.append(kVirtualPlace) += std::to_string(entry.place);
    if (entry.offset != 0) return name + " at +" + std::to_string(entry.offset) + ")";
    name += ")";
    for (const std::uint32_t base : BasesAtBegin(entry.type)) {
      const std::string its = TypeName(base);
      if (its.empty() || name.size() + its.size() >= kMaxTypeBytes) continue;
      name.append(kVirtualBase) += its;
    }
    return name;
  }

  // As symbols have it; "" if it is none.
  std::string TypeName(std::uint32_t type) {
    steps_ += file_.segments().size();
    const auto part = file_.PartAt(types_[type].name);
    if (!part) return "";
    std::string_view text =
        texts_.At(part->offset, std::min<std::uint64_t>(part->bytes, kMaxTypeBytes));
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) return "";
    text = text.substr(0, end);
    if (text.starts_with('*')) text.remove_prefix(1);  // one that only this file knows
    const auto is_mangled = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
    };
    if (text.empty() || !std::ranges::all_of(text, is_mangled)) return "";
    return "_ZTS" + std::string(text);
  }

  const ElfFile& file_;
  const std::span<const FunctionExtent> functions_;
  DataWords words_;
  ByteWindow texts_;
  std::vector<FunctionExtent> code_;  // executable segments
  std::vector<Type> types_;
  std::vector<std::size_t> type_words_;  // where each begins; ascending
  std::vector<std::size_t> type_ends_;
  std::vector<Base> bases_;
  std::vector<Entry> entries_;
  std::uint64_t steps_ = 0;
};

}  // namespace

std::vector<VirtualFunction> FindVirtualFunctions(const ElfFile& file,
                                                  std::span<const FunctionExtent> functions,
                                                  std::string& names) {
  if (!file.IsX86_64() || functions.empty()) return {};
  // Relocations are read and not kept.
  ElfLimits limits = file.limits();
  limits.symbols = limits.indexed_symbols;
  auto same = ElfFile::Open(file.source(), limits);
  if (!same || !same->ReadSections()) return {};
  constexpr std::uint64_t kWordsPerSymbol = 8;  // a word is as much smaller than a symbol
  auto words = DataWords::Read(*same, file.limits().symbols * kWordsPerSymbol);
  if (!words) return {};
  return Finder(file, functions, *std::move(words)).Run(names);
}

}  // namespace profd::elf
