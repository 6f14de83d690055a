#include "daemon/elf/registered/registered_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "daemon/base/keys.h"
#include "daemon/elf/symbols/elf_reader.h"

namespace profd::elf {
namespace {

Error Corrupt(const char* message) { return Error{ErrorCode::kCorrupt, message, ""}; }

bool IsLoadedCode(const ElfSection& section) {
  constexpr std::uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
  return (section.flags & kCode) == kCode && section.bytes > 0 && section.vaddr != 0 &&
         section.vaddr < ProcessBytes::kMaxAddress &&
         section.bytes <= ProcessBytes::kMaxAddress - section.vaddr;
}

void Store(std::string& bytes, std::uint64_t offset, std::uint64_t value, std::size_t size) {
  if (offset <= bytes.size() && size <= bytes.size() - offset)
    std::memcpy(bytes.data() + offset, &value, size);
}

}  // namespace

Result<RegisteredObject> RegisteredObject::Open(int memory, std::uint64_t address,
                                                std::uint64_t bytes) {
  if (bytes > kMaxBytes) return BeyondBound("bytes of a registered object", bytes, kMaxBytes);
  auto source = std::make_unique<ProcessBytes>(memory, address, bytes);
  auto file = ElfFile::Open(*source, {.sections = kMaxSections,
                                      .segments = 64,
                                      .symbols = kMaxSymbols,
                                      .string_bytes = kMaxNameBytes});
  if (!file) return file.error();
  if (!file->IsX86_64()) return Error{ErrorCode::kUnsupported, "not a 64-bit x86 object", ""};
  PROFD_TRY(file->ReadSections());
  RegisteredObject object(std::move(source), *std::move(file));
  const ElfHeader& header = object.file_.header();
  const auto first = object.bytes_->Copy(0, sizeof(Elf64_Ehdr));
  const auto sections =
      object.bytes_->Copy(header.sections_at, header.sections * sizeof(Elf64_Shdr));
  if (!first || !sections) return Corrupt("it has changed while it was read");
  object.place_ = {
      address, bytes,
      MixBits(std::hash<std::string>()(*first) ^ MixBits(std::hash<std::string>()(*sections)))};
  object.FindCode();
  return object;
}

void RegisteredObject::FindCode() {
  for (const ElfSection& section : file_.sections())
    if (IsLoadedCode(section) && code_.size() < kMaxRanges)
      code_.push_back({section.vaddr, section.vaddr_end()});
  std::ranges::sort(code_, {}, &FunctionExtent::begin);
  std::uint64_t end = 0;
  std::erase_if(code_, [&](FunctionExtent& one) {
    if (one.begin < end) return true;
    end = one.end;
    return false;
  });
}

std::uint64_t RegisteredObject::AddressOf(const ElfSymbol& symbol) const {
  if (file_.header().type != ET_REL || symbol.section >= file_.sections().size())
    return symbol.value;
  return file_.sections()[symbol.section].vaddr + symbol.value;
}

SymbolTable RegisteredObject::ReadSymbols() const {
  const ElfSection* table = file_.FindSection(SHT_SYMTAB);
  if (table == nullptr) return {};
  auto names = file_.ReadNames(*table, "symbol names");
  if (!names) return {};
  std::vector<RawSymbol> symbols;
  // What was read before a damaged part counts.
  (void)file_.VisitSymbols(*table, [&](const ElfSymbol& symbol) {
    if (symbol.section >= file_.sections().size() ||
        !IsLoadedCode(file_.sections()[symbol.section]))
      return;
    auto raw = ToRawSymbol(file_, symbol, names->size());
    if (!raw) return;
    raw->start = AddressOf(symbol);
    if (raw->start < raw->section_end) symbols.push_back(*raw);
  });
  *names += '\0';  // the last one may lack it
  return {std::move(symbols), *std::move(names)};
}

Result<RegisteredFrames> RegisteredObject::ReadFrames() const {
  RegisteredFrames frames;
  const ElfSection* section = file_.FindSection(".eh_frame");
  if (section == nullptr) {
    section = file_.FindSection(".debug_frame");
    frames.is_debug_frame = true;
  }
  if (section == nullptr) return Error{ErrorCode::kNotFound, "no unwind information", ""};
  if (section->compressed()) return Error{ErrorCode::kUnsupported, "compressed", ""};
  if (section->bytes > kMaxFrameBytes)
    return BeyondBound("bytes of unwind information", section->bytes, kMaxFrameBytes);
  auto bytes = bytes_->Copy(section->offset, section->bytes);
  if (!bytes) return bytes.error();
  frames.bytes = *std::move(bytes);
  frames.address = section->vaddr;
  Relocate(*section, frames);
  return frames;
}

void RegisteredObject::Relocate(const ElfSection& section, RegisteredFrames& frames) const {
  if (file_.header().type != ET_REL) return;
  const auto index = static_cast<std::uint32_t>(&section - file_.sections().data());
  for (const ElfSection& changes : file_.sections()) {
    if (changes.type != SHT_RELA || changes.info != index ||
        changes.link >= file_.sections().size())
      continue;
    // It may not have been loaded. Distances fit 32 bits only near the code.
    if (frames.address == 0 && !code_.empty()) frames.address = code_.front().end;
    std::vector<std::uint64_t> addresses(1);
    (void)file_.VisitSymbols(file_.sections()[changes.link], [&](const ElfSymbol& symbol) {
      addresses.push_back(AddressOf(symbol));
    });
    file_.VisitRelocations(changes, [&](const ElfRelocation& one) {
      if (one.symbol >= addresses.size()) return;
      const std::uint64_t target = addresses[one.symbol] + one.addend;
      const std::uint64_t place = frames.address + one.offset;
      switch (one.type) {
        case R_X86_64_64:
          return Store(frames.bytes, one.offset, target, sizeof(std::uint64_t));
        case R_X86_64_PC64:
          return Store(frames.bytes, one.offset, target - place, sizeof(std::uint64_t));
        case R_X86_64_32:
        case R_X86_64_32S:
          return Store(frames.bytes, one.offset, target, sizeof(std::uint32_t));
        case R_X86_64_PC32:
          return Store(frames.bytes, one.offset, target - place, sizeof(std::uint32_t));
        default:
          return;
      }
    });
  }
}

}  // namespace profd::elf
