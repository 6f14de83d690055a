// CodeRows: rules for code that has no unwind information.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/unwind/code/code_starts.h"
#include "daemon/unwind/code/function_rows.h"

namespace profd::unwind {

// Of a file, or of memory of a process. Finds the functions and follows each. A function begins
// where a symbol says so, where code calls it, or, if it passes a harder check, where a relocation
// leads, and behind another function. Only instructions of functions whose every return restores
// the caller's registers get a rule, and only where all functions that reach an instruction agree.
// Bounded in work for each range. Owned by a CfiReader; used by one thread.
class CodeRows {
 public:
  // Code before and behind a range that is read with it: functions that reach into it.
  static constexpr std::uint64_t kBefore = 256u << 10;
  static constexpr std::uint64_t kBehind = 256u << 10;
  // Instructions decoded for one range: for 64 KiB of code some ten times as many as it has.
  static constexpr std::uint64_t kMaxDecoded = 1u << 18;

  // Bytes of the program from an address on: as many as requested, or fewer where it ends.
  using Read = std::function<Result<std::string>(std::uint64_t address, std::uint64_t bytes)>;

  CodeRows(Read read, CodeStarts starts) : read_(std::move(read)), starts_(std::move(starts)) {}
  // Of memory in which a process makes code: nothing lists its functions.
  [[nodiscard]] static CodeRows OfMemory(Read read) {
    CodeRows rows(std::move(read), CodeStarts());
    rows.is_memory_ = true;
    return rows;
  }

  struct Found {
    std::vector<FunctionRows::Piece> pieces;
    RefusedFunctions refused{};
    // Functions by more than their place, ascending and disjoint: called, listed by a symbol or, at
    // an aligned place, by a relocation, or marked by endbr64. In memory also what a page begins
    // with, behind zeros or at the begin of the mapping. Each up to the next one, or to code that
    // was not followed.
    std::vector<CodeRange> functions;
  };
  // Rules for instructions of `range`, ascending and disjoint; functions that reach into it. `gaps`
  // are the parts without unwind information from kBefore before the range to kBehind behind it,
  // ascending, in one piece of memory of the program.
  [[nodiscard]] Found Find(const CodeRange& range, std::span<const CodeRange> gaps) const;
  // In memory, by an estimate.
  [[nodiscard]] std::uint64_t bytes() const { return starts_.bytes(); }

 private:
  Read read_;
  CodeStarts starts_;
  bool is_memory_ = false;
};

// Bytes that only fill the space between functions, from the begin of `code` on, which lies at
// `address`.
[[nodiscard]] std::uint64_t PaddingBytes(std::span<const std::uint8_t> code, std::uint64_t address);

}  // namespace profd::unwind
