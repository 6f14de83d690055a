#include "daemon/elf/probes/probe_finder.h"

#include <Zydis/Zydis.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/elf/file/symbol_search.h"

namespace profd::elf {
namespace {

constexpr std::uint64_t kMaxNoteBytes = 4u << 20;
constexpr std::uint32_t kProbeNote = 3;  // NT_STAPSDT
constexpr std::string_view kNoteOwner("stapsdt\0", sizeof "stapsdt");
constexpr std::size_t kNoteAlign = 4;

// The offset in the file of an address in a loaded segment; of code only where it is executable.
std::optional<std::uint64_t> OffsetOf(const ElfFile& file, std::uint64_t vaddr, bool code) {
  for (const ElfSegment& segment : file.segments()) {
    if (segment.type != PT_LOAD || !segment.in_file || vaddr < segment.vaddr) continue;
    const std::uint64_t into = vaddr - segment.vaddr;
    if (into >= segment.file_bytes || (code && !segment.executable)) continue;
    return segment.file_offset + into;
  }
  return std::nullopt;
}

bool IsVector(const ZydisDecodedInstruction& instruction) {
  return instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
         instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
}

bool WritesGeneralRegister(
    const ZydisDecodedInstruction& instruction,
    const std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT>& operands) {
  for (std::size_t i = 0; i < instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands.at(i);
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER ||
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0)
      continue;
    const ZydisRegister whole =
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value);
    if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64) return true;
  }
  return false;
}

// A semaphore lies in .probes, which takes no bytes of the file where it is the end of the data.
std::uint64_t SemaphoreOffset(const ElfFile& file, std::uint64_t vaddr) {
  if (vaddr == 0) return 0;
  return OffsetOf(file, vaddr, false).value_or(0);
}

// What a note of a probe says: three addresses, then three texts.
struct ProbeNote {
  std::uint64_t place = 0;
  std::uint64_t base = 0;  // of .stapsdt.base, when the file was linked
  std::uint64_t semaphore = 0;
  std::string_view provider;
  std::string_view name;
};

std::string_view TakeText(std::string_view& text) {
  const auto end = text.find('\0');
  if (end == std::string_view::npos) return text = {}, std::string_view();
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end + 1);
  return taken;
}

std::optional<ProbeNote> ReadNote(std::string_view content) {
  std::array<std::uint64_t, 3> addresses{};
  if (content.size() < sizeof addresses) return std::nullopt;
  std::memcpy(addresses.data(), content.data(), sizeof addresses);
  content.remove_prefix(sizeof addresses);
  ProbeNote note{addresses[0], addresses[1], addresses[2], {}, {}};
  note.provider = TakeText(content);
  note.name = TakeText(content);
  return note;
}

template <typename Visit>
void VisitNotes(std::string_view notes, const Visit& visit) {
  Elf64_Nhdr header;
  const auto padded = [](std::uint64_t bytes) {
    return (bytes + kNoteAlign - 1) / kNoteAlign * kNoteAlign;
  };
  while (notes.size() >= sizeof header) {
    std::memcpy(&header, notes.data(), sizeof header);
    notes.remove_prefix(sizeof header);
    const std::uint64_t content_at = padded(header.n_namesz);
    if (content_at > notes.size() || header.n_descsz > notes.size() - content_at) return;
    if (header.n_type == kProbeNote && notes.substr(0, header.n_namesz) == kNoteOwner)
      visit(notes.substr(content_at, header.n_descsz));
    notes.remove_prefix(
        std::min<std::uint64_t>(notes.size(), content_at + padded(header.n_descsz)));
  }
}

}  // namespace

std::vector<std::optional<ProbePlace>> FindFunctions(const ElfFile& file,
                                                     std::span<const std::string> names) {
  std::vector<std::optional<FoundSymbol>> found(names.size());
  bool all = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    found[i] = FindDynamicSymbol(file, names[i]);
    all = all && found[i];
  }
  if (!all) {
    const std::vector<std::string_view> wanted(names.begin(), names.end());
    std::vector<std::optional<FoundSymbol>> in_table(names.size());
    FindInSymbolTable(file, wanted, in_table);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!found[i]) found[i] = in_table[i];
  }
  std::vector<std::optional<ProbePlace>> places(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!found[i]) continue;
    const auto offset = OffsetOf(file, found[i]->vaddr, true);
    if (offset) places[i] = ProbePlace{.offset = *offset};
  }
  return places;
}

std::uint64_t BehindVectors(const ElfFile& file, std::uint64_t offset) {
  constexpr std::uint64_t kMostBytes = 64;
  const std::uint64_t size = file.source().size();
  const auto code = file.source().Copy(offset, std::min(kMostBytes, size - std::min(size, offset)));
  ZydisDecoder decoder;
  if (!code ||
      !ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return offset;
  std::uint64_t behind = 0;
  while (behind < code->size()) {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code->data() + behind, code->size() - behind,
                                             &instruction, operands.data())))
      return offset;
    if (!IsVector(instruction)) return offset + behind;
    if (WritesGeneralRegister(instruction, operands)) return offset;
    behind += instruction.length;
  }
  return offset;
}

std::vector<ProbePlace> FindStaticProbe(const ElfFile& file, std::string_view provider,
                                        std::string_view name) {
  std::vector<ProbePlace> places;
  if (!file.IsX86_64()) return places;
  // The file may have been moved after it was linked: as far as this section was.
  const auto base = FindLoadedSection(file, ".stapsdt.base");
  for (const ElfSection& section : file.sections()) {
    if (section.type != SHT_NOTE || section.bytes > kMaxNoteBytes) continue;
    const auto notes = file.source().Copy(section.offset, section.bytes);
    if (!notes) continue;
    VisitNotes(*notes, [&](std::string_view content) {
      const auto note = ReadNote(content);
      if (!note || note->provider != provider || note->name != name) return;
      const std::uint64_t moved = base && note->base != 0 ? base->vaddr - note->base : 0;
      const auto offset = OffsetOf(file, note->place + moved, true);
      if (!offset || places.size() == kMaxProbePlaces) return;
      const std::uint64_t semaphore = note->semaphore == 0 ? 0 : note->semaphore + moved;
      places.push_back({.offset = *offset, .semaphore = SemaphoreOffset(file, semaphore)});
    });
  }
  return places;
}

}  // namespace profd::elf
