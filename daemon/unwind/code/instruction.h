// Instruction: what one x86-64 instruction does to registers, the stack and the flow of control.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace profd::unwind {

// General registers by their numbers in machine code.
enum Register : std::uint8_t {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kRegisters,
  kNoRegister
};

// What an operand refers to. Memory is base + index * scale + offset; relative to rip it has no
// base, and `offset` is the address.
struct Operand {
  enum class Kind : std::uint8_t { kNone, kRegister, kMemory, kConstant };
  Kind kind = Kind::kNone;
  std::uint8_t bytes = 0;
  Register base = kNoRegister;  // the register itself of kRegister
  Register index = kNoRegister;
  std::uint8_t scale = 0;
  std::int64_t offset = 0;  // the number itself of kConstant

  [[nodiscard]] bool is_register() const { return kind == Kind::kRegister; }
  [[nodiscard]] bool is_memory() const { return kind == Kind::kMemory; }
  [[nodiscard]] bool is_constant() const { return kind == Kind::kConstant; }
};

enum class Action : std::uint8_t {
  kOther,        // changes the registers of `written`, and memory at `to`
  kNothing,      // padding
  kPush,         // `from`; of flags it has no kind
  kPop,          // `to`; of flags it has no kind
  kMove,         // 64 bits, or a constant, from `from` to `to`
  kLoadSigned,   // 32 bits with their sign, from `from` to `to`
  kLoadAddress,  // the address of `from` to `to`
  kAdd,          // `from` to `to`
  kSubtract,     // `from` from `to`
  kAnd,          // `from` to `to`
  kCompare,      // `to` with `from`
  kExchange,     // two registers
  kLeave,
  kCall,
  kReturn,
  kJump,    // to `target`, or where `from` says
  kBranch,  // to `target`, or on
  kStop     // control does not go on: ud2, int3, hlt
};

struct Instruction {
  Action action = Action::kOther;
  std::uint8_t bytes = 0;
  bool above = false;         // a branch that is taken above or at a compared number: ja, jae
  std::uint16_t written = 0;  // a bit for each register that kOther changes, none for kMove
  Operand to;
  Operand from;
  std::optional<std::uint64_t> target;  // an address
};

inline constexpr std::size_t kMaxInstructionBytes = 15;

// The instruction that `code` begins with, which lies at `address`. Nothing: it is none.
[[nodiscard]] std::optional<Instruction> Decode(std::span<const std::uint8_t> code,
                                                std::uint64_t address);

}  // namespace profd::unwind
