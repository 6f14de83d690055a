// Any bytes as an ELF file.
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/elf/symbols/elf_reader.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  elf::ElfLimits limits;
  limits.symbols = 10'000;
  limits.string_bytes = 1u << 20;
  const Result<elf::ObjectRef> object =
      elf::ReadElf(elf::MemoryBytes(std::as_bytes(std::span(data, size))), limits);
  if (!object) {
    fuzz::Require(!object.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  const elf::ObjectInfo& info = (*object)->info();
  fuzz::Require(info.segments.size() <= limits.segments, "bound of segments");
  const bool has_symbols = info.symbols_from == elf::SymbolOrigin::kSymtab;
  fuzz::Require(has_symbols || !info.symbols_missing.empty(), "what is missing has a reason");
  for (const elf::LoadSegment& segment : info.segments) {
    for (const std::uint64_t vaddr : {segment.vaddr, segment.vaddr + segment.file_bytes / 2,
                                      segment.vaddr + segment.file_bytes - 1}) {
      const auto symbol = (*object)->FindSymbol(vaddr);
      if (!symbol) continue;
      fuzz::Require(symbol->begin <= vaddr && vaddr < symbol->end, "the symbol holds the address");
      fuzz::Require(!symbol->name.empty() && symbol->name.size() <= size, "a name from the file");
    }
    (void)elf::VaddrOf(info.segments, segment.file_offset);
  }
  return 0;
}
