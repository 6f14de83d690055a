#include "daemon/elf/symbols/word_references.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "daemon/elf/file/byte_window.h"

namespace profd::elf {
namespace {

constexpr std::uint64_t kMaxCodeBytes = 1u << 30;
constexpr std::size_t kFieldBytes = sizeof(std::int32_t);

// The operand of an instruction that is an address relative to its own end.
bool IsRelative(char mode) {
  constexpr unsigned kMode = 0xc7;
  constexpr unsigned kRelative = 0x05;
  return (static_cast<unsigned char>(mode) & kMode) == kRelative;
}

}  // namespace

std::vector<bool> FindReferencedWords(const ElfFile& file, const DataWords& words) {
  std::vector<bool> referenced(words.size());
  const auto mark = [&](std::uint64_t vaddr) {
    if (vaddr < words.first_address() || vaddr >= words.end_address()) return;
    if (const auto index = words.IndexOf(vaddr)) referenced[*index] = true;
  };
  for (std::size_t i = 0; i < words.size(); ++i) mark(words[i]);
  const bool fixed = file.header().type == ET_EXEC;
  std::uint64_t code_bytes = 0;
  ByteWindow window(file.source());
  for (const ElfSegment& segment : file.segments()) {
    if (segment.type != PT_LOAD || !segment.executable || !segment.in_file) continue;
    code_bytes += segment.file_bytes;
    if (code_bytes > kMaxCodeBytes) return {};
    // Pieces overlap by a field and the byte before it.
    for (std::uint64_t at = 0; at + 1 + kFieldBytes <= segment.file_bytes;) {
      const std::string_view code =
          window.At(segment.file_offset + at,
                    std::min<std::uint64_t>(ByteWindow::kPieceBytes, segment.file_bytes - at));
      if (code.size() < 1 + kFieldBytes) break;
      for (std::size_t i = 1; i + kFieldBytes <= code.size(); ++i) {
        std::int32_t field = 0;
        if (!fixed && !IsRelative(code[i - 1])) continue;
        std::memcpy(&field, code.data() + i, sizeof field);
        if (IsRelative(code[i - 1]))
          mark(segment.vaddr + at + i + kFieldBytes + static_cast<std::uint64_t>(field));
        if (fixed) mark(static_cast<std::uint32_t>(field));
      }
      at += code.size() - kFieldBytes;
    }
  }
  return referenced;
}

}  // namespace profd::elf
