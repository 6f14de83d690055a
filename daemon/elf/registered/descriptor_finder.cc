#include "daemon/elf/registered/descriptor_finder.h"

#include <elf.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/keys.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/byte_window.h"
#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/file/symbol_search.h"

namespace profd::elf {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kName = "__jit_debug_descriptor";
constexpr std::string_view kNameWithEnd = "__jit_debug_descriptor\0"sv;

// Where the name stands in a table of names. Nothing: nowhere. Names may share their ends, so that
// it may be the end of a longer one.
std::optional<std::uint64_t> FindName(const ByteSource& source, const ElfSection& names) {
  if (names.type != SHT_STRTAB || names.bytes > DescriptorFinder::kMaxNamesBytes ||
      !source.Holds(names.offset, names.bytes))
    return std::nullopt;
  ByteWindow window(source);
  for (std::uint64_t at = 0; at < names.bytes;) {
    const std::uint64_t left = names.bytes - at;
    const std::string_view piece =
        window.At(names.offset + at, std::min<std::uint64_t>(left, ByteWindow::kPieceBytes));
    if (piece.size() < kNameWithEnd.size()) return std::nullopt;
    if (const auto found = piece.find(kNameWithEnd); found != std::string_view::npos)
      return at + found;
    at += piece.size() - kNameWithEnd.size() + 1;
  }
  return std::nullopt;
}

// Most tables do not have the name: their symbols are not read.
std::optional<std::uint64_t> FindInSymtab(ElfFile& file) {
  if (!file.ReadSections()) return std::nullopt;
  const ElfSection* table = file.FindSection(SHT_SYMTAB);
  if (table == nullptr || table->link >= file.sections().size()) return std::nullopt;
  const auto name = FindName(file.source(), file.sections()[table->link]);
  if (!name) return std::nullopt;
  std::optional<std::uint64_t> found;
  (void)file.VisitSymbols(*table, [&](const ElfSymbol& symbol) {
    if (symbol.name == *name && symbol.section != SHN_UNDEF) found = symbol.value;
  });
  return found;
}

}  // namespace

std::optional<DescriptorFinder::Descriptor> DescriptorFinder::LookInto(const ByteSource& source) {
  auto file = ElfFile::Open(source, {.symbols = 16u << 20});
  if (!file || !file->IsX86_64()) return std::nullopt;
  Descriptor descriptor;
  if (const auto exported = FindDynamicSymbol(*file, kName)) {
    descriptor.vaddr = exported->vaddr;
  } else if (const auto own = FindInSymtab(*file)) {
    descriptor.vaddr = *own;
  } else {
    return std::nullopt;
  }
  descriptor.segments = LoadSegmentsOf(*file);
  return descriptor;
}

std::optional<std::uint64_t> DescriptorFinder::AddressIn(reader::FileOpener& opener,
                                                         std::uint32_t pid, const MapsLine& line) {
  const auto opened = opener.Open({.what = reader::OpenRequest::What::kMapped,
                                   .pid = pid,
                                   .begin = line.start,
                                   .end = line.end});
  if (!opened) return std::nullopt;
  const FileStamp stamp = StampOf(*opened);
  const auto* known = files_.Find(stamp);
  if (known == nullptr)
    known = &files_.Put(stamp, LookInto(FileBytes(opened->fd.get(), stamp.bytes)));
  if (!*known) return std::nullopt;
  const auto vaddr = VaddrOf((*known)->segments, line.file_offset);
  if (!vaddr) return std::nullopt;
  return line.start - *vaddr + (*known)->vaddr;
}

Result<std::vector<std::uint64_t>> DescriptorFinder::Find(reader::FileOpener& opener,
                                                          std::uint32_t pid) {
  const Time now = std::chrono::steady_clock::now();
  const Process* known = processes_.Find(pid);
  if (known != nullptr && now - known->looked_at < kTrusted) return known->addresses;
  const auto maps = reader::ReadProcessFile(opener, pid, "maps", kMaxMapsBytes);
  if (!maps) return maps.error();
  // A process that has ended and that its parent has not waited for yet.
  if (maps->empty()) return Error{ErrorCode::kNotFound, "the process has no memory", ""};
  Process process;
  process.looked_at = now;
  std::vector<MapsLine> mappings;
  ParseMaps(*maps, [&](MapsLine&& line) {
    if (!line.executable || line.inode == 0 || mappings.size() == kMaxMappings) return;
    process.files = MixBits(process.files ^ MixBits(line.start ^ MixBits(line.inode)));
    mappings.push_back(std::move(line));
  });
  if (known != nullptr && known->files == process.files) {
    process.addresses = known->addresses;
  } else {
    for (const MapsLine& line : mappings) {
      if (process.addresses.size() == kMaxDescriptors) break;
      if (const auto address = AddressIn(opener, pid, line)) process.addresses.push_back(*address);
    }
    std::ranges::sort(process.addresses);
    const auto again = std::ranges::unique(process.addresses);
    process.addresses.erase(again.begin(), again.end());
  }
  return processes_.Put(pid, std::move(process)).addresses;
}

}  // namespace profd::elf
