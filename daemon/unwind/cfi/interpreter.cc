#include "daemon/unwind/cfi/interpreter.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "daemon/elf/file/symbol_search.h"

namespace profd::unwind {
namespace {

constexpr std::array<std::string_view, 2> kSymbols{"_PyEval_EvalFrameDefault", "_PyRuntime"};
constexpr std::string_view kSourceFile{"Python/ceval.c\0", 15};
constexpr std::uint64_t kMaxSearchedBytes = 32u << 20;
constexpr std::uint64_t kPartBytes = 1u << 20;

bool Holds(const elf::ElfFile& file, const elf::ElfSegment& segment, std::uint64_t bytes) {
  // Parts overlap, so that one of them holds the text whole.
  for (std::uint64_t at = 0; at < bytes; at += kPartBytes) {
    const std::uint64_t part = std::min(bytes - at, kPartBytes + kSourceFile.size());
    const auto contents = file.source().Copy(segment.file_offset + at, part);
    if (!contents) return false;
    if (contents->find(kSourceFile) != std::string::npos) return true;
  }
  return false;
}

bool HoldsSourceFile(const elf::ElfFile& file) {
  std::uint64_t left = kMaxSearchedBytes;
  for (const elf::ElfSegment& segment : file.segments()) {
    if (segment.type != PT_LOAD || segment.executable) continue;
    const std::uint64_t bytes = std::min(left, segment.file_bytes);
    if (Holds(file, segment, bytes)) return true;
    left -= bytes;
  }
  return false;
}

}  // namespace

bool IsCpython(const elf::ElfFile& file) {
  if (elf::NeedsLibraries(file))
    return std::ranges::any_of(
        kSymbols, [&](auto name) { return elf::FindDynamicSymbol(file, name).has_value(); });
  return HoldsSourceFile(file);
}

}  // namespace profd::unwind
