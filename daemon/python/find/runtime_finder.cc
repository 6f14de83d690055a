#include "daemon/python/find/runtime_finder.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/file/symbol_search.h"
#include "daemon/python/code/layout.h"
#include "daemon/python/find/version_search.h"

namespace profd::python {
namespace {

enum Name { kRuntime, kEval, kVersionNumber, kOldCurrent, kNames };
// The last one is of 3.6 and older, which have no _PyRuntime.
constexpr std::array<std::string_view, kNames> kNameTexts{"_PyRuntime", "_PyEval_EvalFrameDefault",
                                                          "Py_Version", "_PyThreadState_Current"};
using Found = std::array<std::optional<elf::FoundSymbol>, kNames>;

constexpr std::uint64_t kMaxSearchedBytes = 256u << 20;
constexpr std::uint64_t kPieceBytes = 1u << 20;
constexpr std::uint64_t kMaxNamesBytes = 64u << 20;  // of .symtab

// A word of the file's own contents; 0 where it has none.
std::uint64_t WordAt(const elf::ElfFile& elf, std::uint64_t vaddr) {
  const auto part = elf.PartAt(vaddr);
  if (!part || part->bytes < sizeof(std::uint64_t)) return 0;
  const auto bytes = elf.source().Copy(part->offset, sizeof(std::uint64_t));
  std::uint64_t word = 0;
  if (bytes) std::memcpy(&word, bytes->data(), sizeof word);
  return word;
}

std::uint32_t SearchVersion(const elf::ElfFile& elf) {
  VersionSearch version;
  std::uint64_t left = kMaxSearchedBytes;
  for (const elf::ElfSegment& segment : elf.segments()) {
    if (segment.type != PT_LOAD) continue;
    const std::uint64_t bytes = std::min(left, segment.file_bytes);
    for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
      const auto piece = elf.source().Copy(
          segment.file_offset + at, std::min(bytes - at, kPieceBytes + VersionSearch::kOverlap));
      if (!piece) break;
      version.Look(*piece);
    }
    left -= bytes;
  }
  return version.version();
}

std::uint32_t VersionOf(const elf::ElfFile& elf, const Found& found, std::uint64_t runtime) {
  std::uint64_t version = 0;
  if (found[kVersionNumber]) version = WordAt(elf, found[kVersionNumber]->vaddr);
  // _Py_DebugOffsets, as the file has it.
  if (version == 0 && WordAt(elf, runtime) != 0) {
    const std::uint64_t cookie = WordAt(elf, runtime);
    if (std::memcmp(&cookie, "xdebugpy", sizeof cookie) == 0) version = WordAt(elf, runtime + 8);
  }
  if (version == 0) version = SearchVersion(elf);
  return version >> 32 == 0 ? static_cast<std::uint32_t>(version) : 0;
}

Found FindNames(elf::ElfFile& elf) {
  Found found;
  for (std::size_t i = 0; i < kNames; ++i)
    found.at(i) = elf::FindDynamicSymbol(elf, kNameTexts.at(i));
  const bool exported = found[kRuntime] && found[kEval];
  if (exported || found[kOldCurrent]) return found;
  // A program may keep the names to itself. One that only uses a shared interpreter has neither.
  if (!elf.ReadSections()) return found;
  Found all;
  elf::FindInSymbolTable(elf, kNameTexts, all);
  for (std::size_t i = 0; i < kNames; ++i)
    if (!found.at(i)) found.at(i) = all.at(i);
  if (!found[kRuntime]) found[kRuntime] = elf::FindLoadedSection(elf, ".PyRuntime");
  return found;
}

}  // namespace

std::optional<std::uint64_t> RuntimeFile::BiasOf(std::uint64_t begin,
                                                 std::uint64_t file_offset) const {
  for (const Segment& segment : segments) {
    // Mappings begin at the page that holds the segment's first byte.
    constexpr std::uint64_t kPage = 4096;
    const std::uint64_t first = segment.file_offset / kPage * kPage;
    if (file_offset < first || file_offset >= segment.file_offset + segment.bytes) continue;
    return begin - file_offset - (segment.vaddr - segment.file_offset);
  }
  return std::nullopt;
}

Result<RuntimeFile> FindRuntime(const elf::ByteSource& source) {
  auto elf = elf::ElfFile::Open(source, {.string_bytes = kMaxNamesBytes});
  if (!elf) return elf.error();
  if (!elf->IsX86_64()) return Error{ErrorCode::kUnsupported, "not a 64-bit x86 file", ""};
  const Found found = FindNames(*elf);
  RuntimeFile file;
  if (!found[kRuntime]) {
    if (!found[kOldCurrent]) return Error{ErrorCode::kNotFound, "no interpreter", ""};
    file.refused = "CPython 3.6 and older are not supported";
    return file;
  }
  file.runtime = found[kRuntime]->vaddr;
  if (found[kEval]) {
    file.eval_begin = found[kEval]->vaddr;
    file.eval_end = file.eval_begin + found[kEval]->bytes;
  }
  for (const elf::ElfSegment& segment : elf->segments())
    if (segment.type == PT_LOAD && segment.in_file && segment.executable)
      file.segments.push_back({segment.file_offset, segment.vaddr, segment.file_bytes});
  file.version = VersionOf(*elf, found, file.runtime);
  if (file.version != 0 && KnownVersion(file.version) == nullptr)
    file.refused = "CPython " + VersionText(file.version) + " is not supported";
  return file;
}

}  // namespace profd::python
