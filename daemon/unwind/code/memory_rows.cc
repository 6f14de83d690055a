#include "daemon/unwind/code/memory_rows.h"

#include <algorithm>
#include <array>

namespace profd::unwind {

PartRows MemoryRows(const CodeRange& part, const CodeRange& mapping, const CodeRows::Read& read) {
  const std::array around{
      CodeRange{part.begin - std::min(part.begin - mapping.begin, CodeRows::kBefore),
                part.end + std::min(mapping.end - part.end, CodeRows::kBehind)}};
  PartRows rows;
  Append(part.begin - mapping.begin, kNoRule, rows.rows);
  for (const auto& piece : CodeRows(read, CodeStarts()).Find(part, around).pieces) {
    Append(piece.range.begin - mapping.begin, piece.rule, rows.rows);
    if (piece.range.end < part.end) Append(piece.range.end - mapping.begin, kNoRule, rows.rows);
    rows.code_bytes += piece.range.end - piece.range.begin;
  }
  return rows;
}

}  // namespace profd::unwind
