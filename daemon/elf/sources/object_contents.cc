#include "daemon/elf/sources/object_contents.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/elf/sources/function_finder.h"
#include "daemon/reader/message.h"

namespace profd::elf {
namespace {

using reader::Packer;
using reader::Unpacker;

Error Nonsense() {
  return Error{ErrorCode::kCorrupt, "the answer about a file's symbols makes no sense", ""};
}

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
    return Nonsense();
  if (!entries.empty()) std::memcpy(entries.data(), packed.data(), packed.size());
  if (!index.empty()) std::memcpy(contents.index.data(), index.data(), index.size());
  auto table = SymbolTable::FromParts(std::move(entries), std::move(names));
  if (!table) return table.error();
  contents.symbols = *std::move(table);
  return contents;
}

std::string PackFrames(const std::vector<SourceFrame>& frames) {
  Packer fields;
  fields.Number(static_cast<std::uint32_t>(frames.size()));
  for (const SourceFrame& frame : frames)
    fields.Text(frame.name).Text(frame.file).Number(frame.line);
  return fields.Take();
}

Result<std::vector<SourceFrame>> UnpackFrames(std::string_view bytes) {
  Unpacker fields(bytes);
  std::vector<SourceFrame> frames;
  const std::uint32_t count = fields.Count(3 * sizeof(std::uint32_t));
  if (count > kMaxSourceFrames) return Nonsense();
  for (std::uint32_t i = 0; i < count; ++i) {
    SourceFrame frame;
    frame.name = fields.Text();
    frame.file = fields.Text();
    frame.line = fields.Number<std::uint32_t>();
    frames.push_back(std::move(frame));
  }
  if (!fields.done()) return Nonsense();
  return frames;
}

std::string PackFunctions(const std::vector<FunctionExtent>& functions) {
  Packer fields;
  fields.Number(static_cast<std::uint32_t>(functions.size()));
  for (const FunctionExtent& function : functions)
    fields.Number(function.begin).Number(function.end);
  return fields.Take();
}

Result<std::vector<FunctionExtent>> UnpackFunctions(std::string_view bytes) {
  Unpacker fields(bytes);
  std::vector<FunctionExtent> functions;
  const std::uint32_t count = fields.Count(2 * sizeof(std::uint64_t));
  if (count > FunctionFinder::kPieceBytes) return Nonsense();
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    FunctionExtent function;
    function.begin = fields.Number<std::uint64_t>();
    function.end = fields.Number<std::uint64_t>();
    if (function.begin < end || function.begin >= function.end) return Nonsense();
    end = function.end;
    functions.push_back(function);
  }
  if (!fields.done()) return Nonsense();
  return functions;
}

}  // namespace profd::elf
