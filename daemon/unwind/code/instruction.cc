#include "daemon/unwind/code/instruction.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>

namespace profd::unwind {
namespace {

using Operands = std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT>;

Register RegisterOf(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return kNoRegister;
  return static_cast<Register>(ZydisRegisterGetId(whole));
}

Operand OperandOf(const ZydisDecodedOperand& raw, std::uint64_t next) {
  Operand operand;
  operand.bytes = static_cast<std::uint8_t>(std::min(raw.size / 8, 255));
  switch (raw.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      operand.base = RegisterOf(raw.reg.value);
      if (operand.base != kNoRegister) operand.kind = Operand::Kind::kRegister;
      break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
      // Relative to fs and gs lies no stack.
      if (raw.mem.segment == ZYDIS_REGISTER_FS || raw.mem.segment == ZYDIS_REGISTER_GS) break;
      operand.kind = Operand::Kind::kMemory;
      operand.offset = raw.mem.disp.has_displacement ? raw.mem.disp.value : 0;
      operand.scale = raw.mem.scale;
      operand.index = RegisterOf(raw.mem.index);
      if (raw.mem.base == ZYDIS_REGISTER_RIP)
        operand.offset =
            static_cast<std::int64_t>(next + static_cast<std::uint64_t>(operand.offset));
      else
        operand.base = RegisterOf(raw.mem.base);
      break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      operand.kind = Operand::Kind::kConstant;
      operand.offset =
          raw.imm.is_signed ? raw.imm.value.s : static_cast<std::int64_t>(raw.imm.value.u);
      break;
    default:
      break;
  }
  return operand;
}

bool IsPadding(const ZydisDecodedInstruction& raw, const Operands& operands) {
  if (raw.mnemonic == ZYDIS_MNEMONIC_NOP) return true;
  // `lea 0(%rsi),%rsi` and the like.
  return raw.mnemonic == ZYDIS_MNEMONIC_LEA && raw.operand_width == 64 &&
         operands[0].reg.value == operands[1].mem.base &&
         operands[1].mem.index == ZYDIS_REGISTER_NONE && operands[1].mem.disp.value == 0;
}

// Of instructions whose operands are 64 bits wide; all others only change what they write.
Action WideAction(const ZydisDecodedInstruction& raw) {
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      return Action::kMove;
    case ZYDIS_MNEMONIC_MOVSXD:
      return Action::kLoadSigned;
    case ZYDIS_MNEMONIC_LEA:
      return Action::kLoadAddress;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_INC:
      return Action::kAdd;
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_DEC:
      return Action::kSubtract;
    case ZYDIS_MNEMONIC_AND:
      return Action::kAnd;
    case ZYDIS_MNEMONIC_XCHG:
      return Action::kExchange;
    default:
      return Action::kOther;
  }
}

Action ActionOf(const ZydisDecodedInstruction& raw, const Operands& operands) {
  if (IsPadding(raw, operands)) return Action::kNothing;
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return Action::kCall;
    case ZYDIS_CATEGORY_RET:
      return raw.mnemonic == ZYDIS_MNEMONIC_RET ? Action::kReturn : Action::kStop;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return raw.mnemonic == ZYDIS_MNEMONIC_JMP ? Action::kJump : Action::kOther;
    case ZYDIS_CATEGORY_COND_BR:
      return Action::kBranch;
    default:
      break;
  }
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
      return raw.operand_width == 64 ? Action::kPush : Action::kStop;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ:
      return raw.operand_width == 64 ? Action::kPop : Action::kStop;
    case ZYDIS_MNEMONIC_LEAVE:
      return Action::kLeave;
    case ZYDIS_MNEMONIC_CMP:
      return Action::kCompare;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_HLT:
      return Action::kStop;
    default:
      break;
  }
  const bool wide = operands[0].size == 64;
  // A number of 32 bits is written over the whole register.
  const bool number = raw.mnemonic == ZYDIS_MNEMONIC_MOV && operands[0].size == 32 &&
                      operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  return wide || number ? WideAction(raw) : Action::kOther;
}

void SetOperands(const ZydisDecodedInstruction& raw, const Operands& operands, std::uint64_t next,
                 Instruction& instruction) {
  const std::uint8_t visible = raw.operand_count_visible;
  if (instruction.action == Action::kPush || instruction.action == Action::kJump) {
    if (visible > 0) instruction.from = OperandOf(operands[0], next);
    return;
  }
  if (visible > 0) instruction.to = OperandOf(operands[0], next);
  if (visible > 1) instruction.from = OperandOf(operands[1], next);
  if (raw.mnemonic == ZYDIS_MNEMONIC_INC || raw.mnemonic == ZYDIS_MNEMONIC_DEC)
    instruction.from = {.kind = Operand::Kind::kConstant, .bytes = 8, .offset = 1};
  // `mov $-1,%eax` leaves 4294967295.
  if (instruction.action == Action::kMove && instruction.to.bytes == 4)
    instruction.from.offset &= 0xffffffff;
}

// What kOther changes: the registers and the memory that it writes, also those not named.
void SetWritten(const ZydisDecodedInstruction& raw, const Operands& operands, std::uint64_t next,
                Instruction& instruction) {
  instruction.to = {};
  for (std::size_t i = 0; i < raw.operand_count; ++i) {
    if ((operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
    const Operand operand = OperandOf(operands[i], next);
    if (operand.is_register())
      instruction.written |= static_cast<std::uint16_t>(1u << operand.base);
    else if (operand.is_memory())
      instruction.to = operand;
  }
}

class Decoder {
 public:
  Decoder() {
    ok_ =
        ZYAN_SUCCESS(ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
  }

  bool Run(std::span<const std::uint8_t> code, ZydisDecodedInstruction& raw,
           Operands& operands) const {
    return ok_ && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code.data(), code.size(), &raw,
                                                      operands.data()));
  }

 private:
  ZydisDecoder decoder_{};
  bool ok_ = false;
};

}  // namespace

std::optional<Instruction> Decode(std::span<const std::uint8_t> code, std::uint64_t address) {
  static const Decoder decoder;
  ZydisDecodedInstruction raw;
  Operands operands;
  if (!decoder.Run(code, raw, operands)) return std::nullopt;
  Instruction instruction;
  instruction.bytes = raw.length;
  instruction.action = ActionOf(raw, operands);
  const std::uint64_t next = address + raw.length;
  if (instruction.action == Action::kOther)
    SetWritten(raw, operands, next, instruction);
  else
    SetOperands(raw, operands, next, instruction);
  const bool goes = instruction.action == Action::kCall || instruction.action == Action::kJump ||
                    instruction.action == Action::kBranch;
  if (goes && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    instruction.target = next + static_cast<std::uint64_t>(operands[0].imm.value.s);
  instruction.above = raw.mnemonic == ZYDIS_MNEMONIC_JNBE || raw.mnemonic == ZYDIS_MNEMONIC_JNB;
  return instruction;
}

}  // namespace profd::unwind
