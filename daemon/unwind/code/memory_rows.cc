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

}  // namespace

std::vector<CodeRange> MemoryFunctions(const CodeRange& part, const CodeRange& mapping,
                                       const CodeRows::Read& read) {
  const CodeRange around = Around(part, mapping);
  return CodeRows::OfMemory(read).Find(part, {&around, 1}).functions;
}

PartRows MemoryRows(const CodeRange& part, const CodeRange& mapping, const CodeRows::Read& read,
                    std::span<const FunctionRows::Piece> known) {
  std::vector<FunctionRows::Piece> pieces =
      CodeRows::OfMemory(read).Find(part, Gaps(Around(part, mapping), known)).pieces;
  PartRows rows;
  for (const FunctionRows::Piece& piece : pieces)
    rows.code_bytes += piece.range.end - piece.range.begin;
  pieces.insert(pieces.end(), known.begin(), known.end());
  std::ranges::sort(pieces, {}, [](const FunctionRows::Piece& one) { return one.range.begin; });
  Append(part.begin - mapping.begin, kNoRule, rows.rows);
  for (const FunctionRows::Piece& piece : pieces) {
    Append(piece.range.begin - mapping.begin, piece.rule, rows.rows);
    if (piece.range.end < part.end) Append(piece.range.end - mapping.begin, kNoRule, rows.rows);
  }
  return rows;
}

}  // namespace profd::unwind
