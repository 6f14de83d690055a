#include "daemon/elf/sources/object_contents.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/reader/message.h"

namespace profd::elf {
namespace {

using reader::Packer;
using reader::Unpacker;

}  // namespace

std::string PackContents(const ObjectContents& contents) {
  const ObjectInfo& info = contents.info;
  Packer fields;
  fields.Number(contents.needs_index)
      .Number(contents.has_source)
      .Number(contents.lacks_debug_file)
      .Number(contents.alone)
      .Text(info.build_id)
      .Number(info.symbols_from)
      .Text(info.symbols_missing)
      .Text(info.symbols_file)
      .Text(info.debug_file)
      .Text(info.debug_missing)
      .Number(static_cast<std::uint32_t>(info.segments.size()));
  for (const LoadSegment& segment : info.segments)
    fields.Number(segment.file_offset)
        .Number(segment.vaddr)
        .Number(segment.file_bytes)
        .Number(segment.executable);
  const auto entries = contents.symbols.entries();
  fields.Text({reinterpret_cast<const char*>(entries.data()), entries.size_bytes()})
      .Text(contents.symbols.names())
      .Text({reinterpret_cast<const char*>(contents.index.data()),
             contents.index.size() * sizeof(IndexBlock)});
  return fields.Take();
}

Result<ObjectContents> UnpackContents(std::string_view bytes) {
  Unpacker fields(bytes);
  ObjectContents contents;
  ObjectInfo& info = contents.info;
  contents.needs_index = fields.Number<bool>();
  contents.has_source = fields.Number<bool>();
  contents.lacks_debug_file = fields.Number<bool>();
  contents.alone = fields.Number<bool>();
  info.build_id = fields.Text();
  info.symbols_from = fields.Number<SymbolOrigin>();
  info.symbols_missing = fields.Text();
  info.symbols_file = fields.Text();
  info.debug_file = fields.Text();
  info.debug_missing = fields.Text();
  constexpr std::size_t kSegmentBytes = 3 * sizeof(std::uint64_t) + 1;
  const std::uint32_t segments = fields.Count(kSegmentBytes);
  for (std::uint32_t i = 0; i < segments; ++i) {
    LoadSegment segment;
    segment.file_offset = fields.Number<std::uint64_t>();
    segment.vaddr = fields.Number<std::uint64_t>();
    segment.file_bytes = fields.Number<std::uint64_t>();
    segment.executable = fields.Number<bool>();
    info.segments.push_back(segment);
  }
  const std::string_view packed = fields.Text();
  std::string names(fields.Text());
  const std::string_view index = fields.Text();
  std::vector<SymbolTable::Entry> entries(packed.size() / sizeof(SymbolTable::Entry));
  contents.index.resize(index.size() / sizeof(IndexBlock));
  if (!fields.done() || packed.size() % sizeof(SymbolTable::Entry) != 0 ||
      index.size() % sizeof(IndexBlock) != 0 || info.symbols_from > SymbolOrigin::kDynsym)
    return Error{ErrorCode::kCorrupt, "the answer about a file's symbols makes no sense", ""};
  if (!entries.empty()) std::memcpy(entries.data(), packed.data(), packed.size());
  if (!index.empty()) std::memcpy(contents.index.data(), index.data(), index.size());
  auto table = SymbolTable::FromParts(std::move(entries), std::move(names));
  if (!table) return table.error();
  contents.symbols = *std::move(table);
  return contents;
}

}  // namespace profd::elf
