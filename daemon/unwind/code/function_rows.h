// FollowFunction: the rules of one function, from its machine code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// What is known to begin at an address.
enum class CodeBegin : std::uint8_t {
  kNothing,
  kFunction,
  kPart  // of a function that jumps there
};

// What the analysis of a function may read. Implemented by CodeRows, and by tests.
class Code {
 public:
  virtual ~Code() = default;
  // From `address` on, up to 15 bytes; empty where there is no code, or where it has unwind
  // information.
  [[nodiscard]] virtual std::span<const std::uint8_t> At(std::uint64_t address) const = 0;
  [[nodiscard]] virtual CodeBegin BeginAt(std::uint64_t address) const = 0;
  // The first `limit` addresses of a table at most, as far as they can be read.
  [[nodiscard]] virtual std::vector<std::uint64_t> ReadTable(std::uint64_t address, bool distances,
                                                             std::size_t limit) const = 0;
};

// How sure it is that a function begins there, and who calls it.
enum class StartKind : std::uint8_t {
  kLikely,   // by its place alone: it has to return, with all registers restored
  kListed,   // by a symbol or a relocation
  kInternal  // called by code without unwind information: it may change registers
};

struct FunctionRows {
  enum class Outcome : std::uint8_t {
    kFollowed,
    kNoInstruction,  // bytes that are none
    kUnbalanced,     // a return, or a way out, with the stack pointer elsewhere
    kChanged,        // a return that does not restore a register
    kRunsOut,        // into code that is not its own
    kNoReturn,       // and it is only a likely start
    kTooLong,
    // It has rules, but not everywhere.
    kUnknownJump,  // behind a jump whose targets are not known
    kDisputed      // where another function reaches into it with other rules
  };
  static constexpr std::size_t kOutcomes = 9;
  static_assert(std::tuple_size_v<RefusedFunctions> == kOutcomes);
  struct Piece {
    CodeRange range;
    profd_unwind_rule rule{};
  };
  Outcome outcome = Outcome::kFollowed;
  std::vector<Piece> pieces;         // one for each instruction; none unless kFollowed
  std::vector<CodeRange> parts;      // what the pieces cover, ascending
  std::vector<std::uint64_t> calls;  // addresses that it calls
  // Addresses that it leaves to as if it had not begun: it is a function only if they are.
  std::vector<std::uint64_t> jumps;
  std::uint64_t returns = 0;
  std::uint64_t unfollowed = 0;  // jumps whose targets are not known
};

// Why a function has no rules, or not everywhere, as people read it.
[[nodiscard]] std::string_view ReasonOf(FunctionRows::Outcome outcome);

// Follows the stack pointer along all paths from `begin` until nothing changes. Takes from `budget`
// one for each instruction that is decoded, and ends when it is spent. The result counts only if at
// every return the CFA is the stack pointer + 8 and all registers that a function must keep are
// restored.
[[nodiscard]] FunctionRows FollowFunction(const Code& code, std::uint64_t begin, StartKind kind,
                                          std::uint64_t& budget);

}  // namespace profd::unwind
