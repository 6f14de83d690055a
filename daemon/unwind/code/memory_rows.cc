#include "daemon/unwind/code/memory_rows.h"

#include <algorithm>
#include <vector>

namespace profd::unwind {
namespace {

// What `known` leaves of `range`.
std::vector<CodeRange> Gaps(CodeRange range, std::span<const FunctionRows::Piece> known) {
  std::vector<CodeRange> gaps;
  for (const FunctionRows::Piece& piece : known) {
    if (piece.range.begin > range.begin) gaps.push_back({range.begin, piece.range.begin});
    range.begin = piece.range.end;
  }
  if (range.begin < range.end) gaps.push_back(range);
  return gaps;
}

// The part, and what is read with it.
CodeRange Around(const CodeRange& part, const CodeRange& mapping) {
  return {part.begin - std::min(part.begin - mapping.begin, CodeRows::kBefore),
          part.end + std::min(mapping.end - part.end, CodeRows::kBehind)};
}

// Bytes of the part that are in none of `pieces`, which are ascending, and that fill no space.
std::uint64_t BareBytes(const CodeRange& part, std::span<const FunctionRows::Piece> pieces,
                        const CodeRows::Read& read) {
  const auto bytes = read(part.begin, part.end - part.begin);
  if (!bytes) return 0;
  std::uint64_t bare = 0;
  for (const CodeRange& gap : Gaps({part.begin, part.begin + bytes->size()}, pieces))
    bare += static_cast<std::uint64_t>(
        std::ranges::count_if(bytes->substr(gap.begin - part.begin, gap.end - gap.begin),
                              [](char byte) { return byte != 0 && byte != '\xcc'; }));
  return bare;
}

}  // namespace

std::vector<CodeRange> MemoryFunctions(const CodeRange& part, const CodeRange& mapping,
                                       const CodeRows::Read& read) {
  const CodeRange around = Around(part, mapping);
  return CodeRows::OfMemory(read).Find(part, {&around, 1}).functions;
}

PartRows MemoryRows(const CodeRange& part, const CodeRange& mapping, const CodeRows::Read& read,
                    std::span<const FunctionRows::Piece> known) {
  auto [pieces, refused, functions] =
      CodeRows::OfMemory(read).Find(part, Gaps(Around(part, mapping), known));
  PartRows rows;
  rows.refused = refused;
  for (const FunctionRows::Piece& piece : pieces)
    rows.code_bytes += piece.range.end - piece.range.begin;
  pieces.insert(pieces.end(), known.begin(), known.end());
  std::ranges::sort(pieces, {}, [](const FunctionRows::Piece& one) { return one.range.begin; });
  rows.bare_bytes = BareBytes(part, pieces, read);
  Append(part.begin - mapping.begin, kNoRule, rows.rows);
  for (const FunctionRows::Piece& piece : pieces) {
    Append(piece.range.begin - mapping.begin, piece.rule, rows.rows);
    if (piece.range.end < part.end) Append(piece.range.end - mapping.begin, kNoRule, rows.rows);
  }
  return rows;
}

}  // namespace profd::unwind
