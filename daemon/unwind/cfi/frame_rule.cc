#include "daemon/unwind/cfi/frame_rule.h"

#include <dwarf.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace profd::unwind {
namespace {

constexpr unsigned kRbp = 6;
constexpr unsigned kRsp = 7;
constexpr unsigned kReturnAddress = 16;
constexpr unsigned kGeneralRegisters = 16;
// DWARF numbers, by enum profd_saved_register.
constexpr std::array<int, PROFD_SAVED_MAX> kSavedRegisters{6, 3, 12, 13, 14, 15};
// Where struct ucontext has the stack pointer: what the CFA of signal frames is read from.
constexpr std::int64_t kUcontextRsp = 160;

using Operations = std::span<const Dwarf_Op>;

struct RegisterOffset {
  unsigned reg = 0;
  std::int64_t offset = 0;
};

std::optional<RegisterOffset> AsRegisterOffset(const Dwarf_Op& op) {
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
    return RegisterOffset{static_cast<unsigned>(op.atom - DW_OP_breg0),
                          static_cast<std::int64_t>(op.number)};
  if (op.atom == DW_OP_bregx && op.number <= kReturnAddress)
    return RegisterOffset{static_cast<unsigned>(op.number), static_cast<std::int64_t>(op.number2)};
  return std::nullopt;
}

// A number that the operations push or add.
std::optional<std::int64_t> AsAddition(Operations ops) {
  if (ops.size() == 1 && ops[0].atom == DW_OP_plus_uconst)
    return static_cast<std::int64_t>(ops[0].number);
  if (ops.size() != 2 || ops[1].atom != DW_OP_plus) return std::nullopt;
  const auto atom = ops[0].atom;
  if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) return atom - DW_OP_lit0;
  if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
    return static_cast<std::int64_t>(ops[0].number);
  return std::nullopt;
}

bool FitsInt32(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

// rsp + 8 + ((pc & 15) >= N ? 8 : 0), as linkers write it for .plt; N.
std::optional<std::int32_t> AsPlt(Operations ops) {
  constexpr std::array<int, 9> kAtoms{DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, -1,
                                      DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
  if (ops.size() != kAtoms.size()) return std::nullopt;
  for (std::size_t i = 0; i < kAtoms.size(); ++i) {
    if (kAtoms[i] >= 0 && ops[i].atom != kAtoms[i]) return std::nullopt;
  }
  if (ops[0].number != 8 || ops[1].number != 0) return std::nullopt;
  if (ops[4].atom < DW_OP_lit0 || ops[4].atom > DW_OP_lit15) return std::nullopt;
  return ops[4].atom - DW_OP_lit0;
}

profd_unwind_rule CfaRule(profd_cfa_kind kind, RegisterOffset place, std::int64_t add) {
  if (place.reg >= kGeneralRegisters || !FitsInt32(place.offset) || !FitsInt32(add)) return kNoRule;
  profd_unwind_rule rule{};
  rule.cfa = static_cast<__u8>(kind);
  rule.cfa_register = static_cast<__u8>(place.reg);
  rule.offset = static_cast<__s32>(place.offset);
  rule.add = static_cast<__s32>(add);
  return rule;
}

// Sets the part of the rule for the CFA; cfa is NONE when a rule cannot express it.
profd_unwind_rule CfaOf(Operations ops, bool signal) {
  if (ops.empty()) return kNoRule;
  const auto place = AsRegisterOffset(ops[0]);
  if (!place) return kNoRule;
  const bool deref = ops.size() >= 2 && ops[1].atom == DW_OP_deref;
  if (signal) {
    if (ops.size() != 2 || !deref || place->reg != kRsp) return kNoRule;
    return CfaRule(PROFD_CFA_SIGNAL, {kRsp, place->offset - kUcontextRsp}, 0);
  }
  if (ops.size() == 1) return CfaRule(PROFD_CFA_REGISTER, *place, 0);
  if (const auto plt = AsPlt(ops)) return CfaRule(PROFD_CFA_PLT, {kRsp, 8}, *plt);
  if (!deref) return kNoRule;
  if (ops.size() == 2) return CfaRule(PROFD_CFA_DEREF, *place, 0);
  const auto add = AsAddition(ops.subspan(2));
  return add ? CfaRule(PROFD_CFA_DEREF, *place, *add) : kNoRule;
}

// Where the caller's value of a register is.
struct SavedPlace {
  enum Kind { kLost, kUndefined, kSame, kAtCfa, kAtRbp, kInRegister } kind = kLost;
  std::int64_t value = 0;  // bytes, or the register
};

SavedPlace SavedPlaceOf(Dwarf_Frame* frame, int reg) {
  std::array<Dwarf_Op, 3> memory;
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, reg, memory.data(), &ops, &count) != 0) return {};
  if (count == 0) return {ops == nullptr ? SavedPlace::kSame : SavedPlace::kUndefined, 0};
  if (ops[0].atom == DW_OP_call_frame_cfa) {
    if (count == 1) return {SavedPlace::kAtCfa, 0};
    if (count == 2 && ops[1].atom == DW_OP_plus_uconst)
      return {SavedPlace::kAtCfa, static_cast<std::int64_t>(ops[1].number)};
    // An expression of the file's: libdw puts the CFA before it, as DWARF wants, used or not.
    const auto at = count == 2 ? AsRegisterOffset(ops[1]) : std::nullopt;
    if (at && at->reg == kRbp) return {SavedPlace::kAtRbp, at->offset};
    return {};
  }
  if (count != 1) return {};
  if (ops[0].atom == DW_OP_regx)
    return {SavedPlace::kInRegister, static_cast<std::int64_t>(ops[0].number)};
  if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg15)
    return {SavedPlace::kInRegister, ops[0].atom - DW_OP_reg0};
  return {};
}

__s16 InWords(std::int64_t bytes) {
  constexpr std::int64_t kMost = 32'000;
  if (bytes % PROFD_PLACE_UNIT != 0) return __s16{PROFD_LOST};
  const std::int64_t words = bytes / PROFD_PLACE_UNIT;
  return static_cast<__s16>(words < -kMost || words > kMost ? PROFD_LOST : words);
}

// False when the return address is where a rule cannot say.
bool SetReturnAddress(const SavedPlace& place, profd_unwind_rule& rule) {
  if (place.kind == SavedPlace::kInRegister && place.value < int{kGeneralRegisters}) {
    rule.flags |= PROFD_RULE_RETURN_IN_REGISTER;
    rule.return_address = static_cast<__s16>(place.value);
    return true;
  }
  if (place.kind != SavedPlace::kAtCfa) return false;
  rule.return_address = InWords(place.value);
  return rule.return_address != PROFD_LOST;
}

void SetSaved(Dwarf_Frame* frame, profd_unwind_rule& rule) {
  std::array<SavedPlace, PROFD_SAVED_MAX> places;
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = SavedPlaceOf(frame, kSavedRegisters[i]);
    // libdw's list of registers that functions keep by default has rax where rbx
    // belongs.
    if (i == PROFD_SAVED_RBX && places[i].kind == SavedPlace::kUndefined)
      places[i] = {SavedPlace::kSame, 0};
    if (places[i].kind == SavedPlace::kAtRbp) rule.flags |= PROFD_RULE_SAVED_BY_RBP;
  }
  const auto base =
      (rule.flags & PROFD_RULE_SAVED_BY_RBP) != 0 ? SavedPlace::kAtRbp : SavedPlace::kAtCfa;
  for (std::size_t i = 0; i < places.size(); ++i) {
    rule.saved[i] = places[i].kind == SavedPlace::kSame ? __s16{PROFD_SAME}
                    : places[i].kind == base            ? InWords(places[i].value)
                                                        : __s16{PROFD_LOST};
  }
}

}  // namespace

profd_unwind_rule RuleOf(Dwarf_Frame* frame) {
  bool signal = false;
  if (dwarf_frame_info(frame, nullptr, nullptr, &signal) != int{kReturnAddress}) return kNoRule;
  const SavedPlace return_address = SavedPlaceOf(frame, kReturnAddress);
  if (return_address.kind == SavedPlace::kUndefined) {
    profd_unwind_rule end{};
    end.cfa = PROFD_CFA_END;
    return end;
  }
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0) return kNoRule;
  profd_unwind_rule rule = CfaOf({ops, count}, signal);
  if (rule.cfa == PROFD_CFA_NONE || rule.cfa == PROFD_CFA_SIGNAL) return rule;
  if (!SetReturnAddress(return_address, rule)) return kNoRule;
  SetSaved(frame, rule);
  return rule;
}

}  // namespace profd::unwind
