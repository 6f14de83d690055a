// Object: what profd keeps of one ELF file: its build id, load segments and function symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace profd::elf {

class ElfFile;

// One PT_LOAD: bytes [file_offset, file_offset + file_bytes) of the file lie at `vaddr`.
struct LoadSegment {
  std::uint64_t file_offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t file_bytes = 0;
  bool executable = false;
  friend bool operator==(const LoadSegment&, const LoadSegment&) = default;
};

// In the order of the file.
[[nodiscard]] std::vector<LoadSegment> LoadSegmentsOf(const ElfFile& file);

// Which table the symbols are from. A stripped file has kDynsym: exported functions alone.
enum class SymbolOrigin : std::uint8_t { kNone, kSymtab, kDynsym };

struct ObjectInfo {
  std::string build_id;  // lower-case hex; "" when the file has none
  std::vector<LoadSegment> segments;
  SymbolOrigin symbols_from = SymbolOrigin::kNone;
  // Why symbols_from is kNone or kDynsym; "" when nothing is missing.
  std::string symbols_missing;
  std::string symbols_file;  // where the symbols were found, when not in the file itself
  // Where inlined functions and lines are from: a path, or kOwnDebugInfo; "" when there are none.
  std::string debug_file;
  std::string debug_missing;  // why there are none; what was tried
  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

// As the debug file of an object whose own file has the debug information. Its path is not here:
// one object serves all paths of its file, and users who know one of them may not know another.
inline constexpr std::string_view kOwnDebugInfo = ".debug_info";

// A range of virtual addresses that belongs to one function. `name` is as the file has it
// (mangled, hostile bytes and all) and lives until the Object finds another one; "" when the
// function has no symbol, but its extent is known.
struct SymbolRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // past the last byte; begin < end
  std::string_view name;
  friend bool operator==(const SymbolRange&, const SymbolRange&) = default;
};

// One function at an address, by the debug information. Texts are as the file has them.
struct SourceFrame {
  std::string name;  // mangled where the file says so; "" when the debug information has none
  std::string file;
  std::uint32_t line = 0;  // 0: not known
  friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};

// Immutable to its users, but for what FindSource can say. Used by the thread that uses its
// ObjectSource.
class Object {
 public:
  virtual ~Object() = default;
  [[nodiscard]] virtual const ObjectInfo& info() const = 0;
  // The function that holds this address; nothing when no function is known there.
  [[nodiscard]] virtual std::optional<SymbolRange> FindSymbol(std::uint64_t vaddr) const = 0;
  // The function that holds this address, and those inlined into it there, innermost first: the
  // last one is not inlined. Empty when the debug information, if any, does not cover the address.
  [[nodiscard]] virtual std::vector<SourceFrame> FindSource(std::uint64_t /*vaddr*/) const {
    return {};
  }
  // Memory it holds, for caches; without the debug information, which has its own bound.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};
using ObjectRef = std::shared_ptr<const Object>;

// Where a byte of the file is in the object's own address space. Mappings are whole pages, so the
// ends of a segment's first and last page count as its own; a segment that truly holds the offset
// goes before, and an executable one before others.
[[nodiscard]] std::optional<std::uint64_t> VaddrOf(const std::vector<LoadSegment>& segments,
                                                   std::uint64_t file_offset);

}  // namespace profd::elf
