// FrameState: what is known of the registers and of a frame's stack before one instruction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/unwind/code/instruction.h"

namespace profd::unwind {

// What a register or a word of the stack holds.
struct Value {
  enum class Kind : std::uint8_t {
    kUnknown,
    kEntry,        // what register `number` held when the function was entered
    kStack,        // `base` + `number`
    kConstant,     // `number`, for example the address of a table
    kTableEntry,   // an entry of the table of 32-bit distances at `number`
    kTableTarget,  // the same, the table's address added
    kTableWord     // an entry of the table of addresses at `number`
  };
  // The canonical frame address. Other bases are addresses of instructions that gave the stack
  // pointer a value whose distance from it is not known, as alloca, alignment and a change to
  // another stack do; with kMerged those at which it comes from several such.
  static constexpr std::uint64_t kCfa = 0;
  static constexpr std::uint64_t kMerged = std::uint64_t{1} << 63;

  Kind kind = Kind::kUnknown;
  std::uint64_t base = 0;
  std::int64_t number = 0;

  [[nodiscard]] bool Is(Kind wanted) const { return kind == wanted; }
  [[nodiscard]] bool IsEntry(Register reg) const { return Is(Kind::kEntry) && number == reg; }
  [[nodiscard]] bool IsStack(std::uint64_t wanted) const {
    return Is(Kind::kStack) && base == wanted;
  }
  friend bool operator==(const Value&, const Value&) = default;
};

// A table of addresses that a jump reads.
struct JumpTable {
  std::uint64_t address = 0;
  bool distances = false;                // of 32 bits, from the table; else addresses
  std::optional<std::uint64_t> entries;  // from a comparison before; nothing: not known
};

// Begins as a function does after it has been called. Assumes what all compilers do: nothing is
// written through pointers over what a frame has saved, and a called function keeps the registers
// that it must. The analysis of a function that does otherwise finds returns that do not restore
// registers. Used by one thread.
class FrameState {
 public:
  FrameState();

  // `instruction` lies at `address`, and control goes on behind it, or where it jumps.
  void Apply(const Instruction& instruction, std::uint64_t address);
  // Keeps what holds in both, at `address`. True: something was given up.
  [[nodiscard]] bool Merge(const FrameState& other, std::uint64_t address);

  // The stack pointer is what it was at the beginning.
  [[nodiscard]] bool balanced() const;
  // A bit for each register that a function must keep and that is not as it was.
  [[nodiscard]] std::uint16_t changed() const;
  // Distance of the stack pointer from the CFA; nothing: not known.
  [[nodiscard]] std::optional<std::int64_t> depth() const;
  // The table that a jump to where `from` says reads its target from.
  [[nodiscard]] std::optional<JumpTable> TableOf(const Operand& from) const;
  // The rule for this place; kNoRule when there is none. `lost`: registers as changed() has them
  // that some return of the function does not restore.
  [[nodiscard]] profd_unwind_rule Rule(std::uint16_t lost) const;

 private:
  struct Slot {
    std::uint64_t base = 0;
    std::int64_t offset = 0;
    Value value;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  static constexpr std::size_t kMaxSlots = 64;

  [[nodiscard]] Value Get(const Operand& operand) const;
  void Set(const Operand& operand, const Value& value);
  // Where memory lies on the stack; nothing: elsewhere.
  [[nodiscard]] std::optional<Value> PlaceOf(const Operand& memory) const;
  // The table of addresses that memory with an index lies in.
  [[nodiscard]] std::optional<std::int64_t> AddressesAt(const Operand& memory) const;
  [[nodiscard]] Value Load(const Value& place) const;
  void Store(const Value& place, std::uint8_t bytes, const Value& value);
  void Push(const Value& value);
  [[nodiscard]] Value Pop();
  void Add(const Operand& to, const Value& what, bool negative, std::uint64_t address);
  void And(const Operand& to, const Value& mask, std::uint64_t address);
  void Call(const Instruction& instruction, std::uint64_t next);
  // A value at a distance from the CFA that is not known.
  [[nodiscard]] Value NewBase(std::uint64_t address);
  [[nodiscard]] std::optional<profd_unwind_rule> CfaRule() const;
  void SetSaved(std::uint16_t lost, profd_unwind_rule& rule) const;

  std::array<Value, kRegisters> registers_;
  std::vector<Slot> slots_;                // with values worth following
  std::optional<std::uint64_t> compared_;  // the number in the last comparison
  std::optional<std::uint64_t> entries_;   // what jumped away above it left
};

}  // namespace profd::unwind
