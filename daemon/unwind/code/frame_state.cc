#include "daemon/unwind/code/frame_state.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "daemon/unwind/code/row.h"

namespace profd::unwind {
namespace {

using Kind = Value::Kind;

constexpr std::int64_t kWord = 8;
// Frames are smaller, and sums of such numbers do not overflow.
constexpr std::int64_t kMaxDistance = std::int64_t{1} << 31;

// DWARF numbers of the registers.
constexpr std::array<std::uint8_t, kRegisters> kDwarf{0, 2, 1,  3,  7,  6,  4,  5,
                                                      8, 9, 10, 11, 12, 13, 14, 15};
// What functions must keep, in the order of enum profd_saved_register.
constexpr std::array<Register, PROFD_SAVED_MAX> kKept{kRbp, kRbx, kR12, kR13, kR14, kR15};
constexpr std::array<Register, 9> kNotKept{kRax, kRcx, kRdx, kRsi, kRdi, kR8, kR9, kR10, kR11};

Value Constant(std::int64_t number) { return {Kind::kConstant, 0, number}; }

// Numbers in code may be any.
bool IsDistance(std::int64_t number) { return number >= -kMaxDistance && number <= kMaxDistance; }

std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

Value Moved(Value value, std::int64_t distance) {
  if (!value.Is(Kind::kStack) || !IsDistance(distance)) return {};
  value.number += distance;
  return IsDistance(value.number) ? value : Value();
}

// What a store of it is remembered for.
bool IsWorthFollowing(const Value& value) {
  return value.Is(Kind::kEntry) || value.Is(Kind::kStack);
}

bool FitsOffset(std::int64_t number) {
  return number >= std::numeric_limits<std::int32_t>::min() &&
         number <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

FrameState::FrameState() {
  for (std::uint8_t i = 0; i < kRegisters; ++i) registers_[i] = {Kind::kEntry, 0, i};
  registers_[kRsp] = {Kind::kStack, Value::kCfa, -kWord};
}

std::optional<Value> FrameState::PlaceOf(const Operand& memory) const {
  if (!memory.is_memory() || memory.base == kNoRegister || memory.index != kNoRegister)
    return std::nullopt;
  const Value place = Moved(registers_[memory.base], memory.offset);
  return place.Is(Kind::kStack) ? std::optional(place) : std::nullopt;
}

std::optional<std::int64_t> FrameState::AddressesAt(const Operand& memory) const {
  if (!memory.is_memory() || memory.index == kNoRegister || memory.scale != kWord)
    return std::nullopt;
  if (memory.base == kNoRegister) return memory.offset;
  const Value& table = registers_[memory.base];
  return table.Is(Kind::kConstant) ? std::optional(Sum(table.number, memory.offset)) : std::nullopt;
}

Value FrameState::Load(const Value& place) const {
  for (const Slot& slot : slots_)
    if (slot.base == place.base && slot.offset == place.number) return slot.value;
  return {};
}

void FrameState::Store(const Value& place, std::uint8_t bytes, const Value& value) {
  std::erase_if(slots_, [&](const Slot& slot) {
    return slot.base == place.base && slot.offset < place.number + bytes &&
           place.number < slot.offset + kWord;
  });
  if (bytes == kWord && IsWorthFollowing(value) && slots_.size() < kMaxSlots)
    slots_.push_back({place.base, place.number, value});
}

Value FrameState::Get(const Operand& operand) const {
  if (operand.is_register()) return operand.bytes == kWord ? registers_[operand.base] : Value();
  if (operand.is_constant()) return Constant(operand.offset);
  if (operand.bytes != kWord) return {};
  const auto place = PlaceOf(operand);
  return place ? Load(*place) : Value();
}

void FrameState::Set(const Operand& operand, const Value& value) {
  if (operand.is_register()) {
    registers_[operand.base] = value;
  } else if (const auto place = PlaceOf(operand)) {
    Store(*place, operand.bytes, value);
  }
}

void FrameState::Push(const Value& value) {
  Value& top = registers_[kRsp];
  top = Moved(top, -kWord);
  if (top.Is(Kind::kStack)) Store(top, kWord, value);
}

Value FrameState::Pop() {
  Value& top = registers_[kRsp];
  const Value value = top.Is(Kind::kStack) ? Load(top) : Value();
  top = Moved(top, kWord);
  return value;
}

Value FrameState::NewBase(std::uint64_t address) {
  // In a loop the old one is another.
  for (Value& value : registers_)
    if (value.IsStack(address)) value = {};
  std::erase_if(slots_, [&](const Slot& slot) {
    return slot.base == address || slot.value.IsStack(address);
  });
  return {Kind::kStack, address, 0};
}

void FrameState::Add(const Operand& to, const Value& what, bool negative, std::uint64_t address) {
  const Value before = Get(to);
  const auto is_target = [](const Value& table, const Value& entry) {
    return table.Is(Kind::kConstant) && entry.Is(Kind::kTableEntry) && table.number == entry.number;
  };
  if (!negative && is_target(what, before)) return Set(to, {Kind::kTableTarget, 0, before.number});
  if (!negative && is_target(before, what)) return Set(to, {Kind::kTableTarget, 0, what.number});
  if (what.Is(Kind::kConstant) && IsDistance(what.number)) {
    const std::int64_t distance = negative ? -what.number : what.number;
    return Set(to, before.Is(Kind::kConstant) ? Constant(Sum(before.number, distance))
                                              : Moved(before, distance));
  }
  const bool moves_stack = to.is_register() && to.base == kRsp && before.Is(Kind::kStack);
  Set(to, moves_stack ? NewBase(address) : Value());
}

void FrameState::And(const Operand& to, const Value& mask, std::uint64_t address) {
  const bool aligns = mask.Is(Kind::kConstant) && mask.number < 0 &&
                      std::has_single_bit(0 - static_cast<std::uint64_t>(mask.number));
  Set(to, aligns && to.is_register() && Get(to).Is(Kind::kStack) ? NewBase(address) : Value());
}

void FrameState::Call(const Instruction& instruction, std::uint64_t next) {
  // Position-independent code reads its own address this way.
  if (instruction.target == next) return Push(Constant(static_cast<std::int64_t>(next)));
  for (const Register reg : kNotKept) registers_[reg] = {};
  const Value& top = registers_[kRsp];
  if (!top.Is(Kind::kStack)) return;
  std::erase_if(
      slots_, [&](const Slot& slot) { return slot.base == top.base && slot.offset < top.number; });
}

void FrameState::Apply(const Instruction& instruction, std::uint64_t address) {
  const Operand& to = instruction.to;
  const Operand& from = instruction.from;
  switch (instruction.action) {
    case Action::kPush:
      return Push(Get(from));
    case Action::kPop: {
      const bool moves_stack = to.is_register() && to.base == kRsp;
      const Value value = Pop();
      return Set(to, moves_stack && !value.Is(Kind::kStack) ? Value() : value);
    }
    case Action::kMove: {
      const auto table = AddressesAt(from);
      const Value value = table ? Value{Kind::kTableWord, 0, *table} : Get(from);
      const bool moves_stack = to.is_register() && to.base == kRsp;
      return Set(to, moves_stack && !value.Is(Kind::kStack) ? NewBase(address) : value);
    }
    case Action::kLoadSigned: {
      const bool scaled = from.is_memory() && from.scale == 4 && from.base != kNoRegister;
      const Value table = scaled ? registers_[from.base] : Value();
      return Set(to, table.Is(Kind::kConstant)
                         ? Value{Kind::kTableEntry, 0, Sum(table.number, from.offset)}
                         : Value());
    }
    case Action::kLoadAddress: {
      if (const auto place = PlaceOf(from)) return Set(to, *place);
      const bool fixed = from.base == kNoRegister && from.index == kNoRegister;
      return Set(to, fixed ? Constant(from.offset) : Value());
    }
    case Action::kAdd:
      return Add(to, Get(from), false, address);
    case Action::kSubtract:
      return Add(to, Get(from), true, address);
    case Action::kAnd:
      return And(to, Get(from), address);
    case Action::kCompare:
      compared_.reset();
      if (from.is_constant() && from.offset >= 0)
        compared_ = static_cast<std::uint64_t>(from.offset);
      return;
    case Action::kExchange: {
      const Value first = Get(to);
      Set(to, Get(from));
      return Set(from, first);
    }
    case Action::kLeave:
      registers_[kRsp] = registers_[kRbp].Is(Kind::kStack) ? registers_[kRbp] : Value();
      registers_[kRbp] = Pop();
      return;
    case Action::kCall:
      return Call(instruction, address + instruction.bytes);
    case Action::kBranch:
      if (instruction.above && compared_) entries_ = *compared_ + 1;
      return;
    case Action::kOther:
      for (std::uint8_t i = 0; i < kRegisters; ++i)
        if ((instruction.written & 1u << i) != 0) registers_[i] = {};
      return Set(to, {});
    default:
      return;
  }
}

bool FrameState::Merge(const FrameState& other, std::uint64_t address) {
  bool changed = false;
  const std::uint64_t merged = address | Value::kMerged;
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    const Value& its = other.registers_[i];
    Value& value = registers_[i];
    if (value == its || value.Is(Kind::kUnknown)) continue;
    // The stack pointer is one of two, and what is stored by it is found by it. Not in a loop that
    // moves it.
    const bool is_one_of_two =
        i == kRsp && value.Is(Kind::kStack) && its.Is(Kind::kStack) && !its.IsStack(merged);
    if (is_one_of_two && value.IsStack(merged)) continue;
    value = is_one_of_two ? Value{Kind::kStack, merged, 0} : Value();
    changed = true;
  }
  changed |= std::erase_if(slots_, [&](const Slot& slot) {
               return std::ranges::find(other.slots_, slot) == other.slots_.end();
             }) != 0;
  if (entries_ && entries_ != other.entries_) {
    entries_.reset();
    changed = true;
  }
  compared_.reset();
  return changed;
}

bool FrameState::balanced() const {
  return registers_[kRsp].IsStack(Value::kCfa) && registers_[kRsp].number == -kWord;
}

std::uint16_t FrameState::changed() const {
  std::uint16_t bits = 0;
  for (const Register reg : kKept)
    if (!registers_[reg].IsEntry(reg)) bits |= static_cast<std::uint16_t>(1u << reg);
  return bits;
}

std::optional<std::int64_t> FrameState::depth() const {
  if (!registers_[kRsp].IsStack(Value::kCfa)) return std::nullopt;
  return registers_[kRsp].number;
}

std::optional<JumpTable> FrameState::TableOf(const Operand& from) const {
  if (const auto table = AddressesAt(from))
    return JumpTable{static_cast<std::uint64_t>(*table), false, entries_};
  if (!from.is_register()) return std::nullopt;
  const Value& value = registers_[from.base];
  if (!value.Is(Kind::kTableTarget) && !value.Is(Kind::kTableWord)) return std::nullopt;
  return JumpTable{static_cast<std::uint64_t>(value.number), value.Is(Kind::kTableTarget),
                   entries_};
}

// By a frame pointer in its usual place, as compilers do, else by the stack pointer, else by a
// register that callers find again, else by a word of the stack, else by any register: that is
// known only in the innermost frame.
std::optional<profd_unwind_rule> FrameState::CfaRule() const {
  profd_unwind_rule rule{};
  rule.flags = PROFD_RULE_FROM_CODE;
  rule.return_address = -1;
  const auto by_register = [&](Register reg) {
    if (!registers_[reg].IsStack(Value::kCfa) || !FitsOffset(registers_[reg].number)) return false;
    rule.cfa = PROFD_CFA_REGISTER;
    rule.cfa_register = kDwarf[reg];
    rule.offset = static_cast<__s32>(-registers_[reg].number);
    return true;
  };
  const auto by_word = [&](Register reg) {
    const Value& base = registers_[reg];
    if (!base.Is(Kind::kStack)) return false;
    for (const Slot& slot : slots_) {
      const std::int64_t offset = slot.offset - base.number;
      if (slot.base != base.base || !slot.value.IsStack(Value::kCfa) || !FitsOffset(offset) ||
          !FitsOffset(slot.value.number))
        continue;
      rule.cfa = PROFD_CFA_DEREF;
      rule.cfa_register = kDwarf[reg];
      rule.offset = static_cast<__s32>(offset);
      rule.add = static_cast<__s32>(-slot.value.number);
      return true;
    }
    return false;
  };
  const Value& frame = registers_[kRbp];
  const bool has_frame_pointer =
      frame.IsStack(Value::kCfa) && frame.number == -2 * kWord && Load(frame).IsEntry(kRbp);
  if ((has_frame_pointer && by_register(kRbp)) || by_register(kRsp) ||
      std::ranges::any_of(kKept, by_register) || by_word(kRbp) || by_word(kRsp) ||
      std::ranges::any_of(kNotKept, by_register))
    return rule;
  return std::nullopt;
}

void FrameState::SetSaved(std::uint16_t lost, profd_unwind_rule& rule) const {
  const Value& frame = registers_[kRbp];
  std::array<std::optional<std::int64_t>, PROFD_SAVED_MAX> from_cfa;
  std::array<std::optional<std::int64_t>, PROFD_SAVED_MAX> from_rbp;
  std::size_t only_rbp = 0;
  for (std::size_t i = 0; i < kKept.size(); ++i) {
    for (const Slot& slot : slots_) {
      if (!slot.value.IsEntry(kKept[i]) || slot.offset % kWord != 0) continue;
      if (slot.base == Value::kCfa) from_cfa[i] = slot.offset / kWord;
      if (frame.IsStack(slot.base) && (slot.offset - frame.number) % kWord == 0)
        from_rbp[i] = (slot.offset - frame.number) / kWord;
    }
    const bool same = registers_[kKept[i]].IsEntry(kKept[i]);
    if (!same && from_rbp[i] && !from_cfa[i]) ++only_rbp;
  }
  if (only_rbp > 0) rule.flags |= PROFD_RULE_SAVED_BY_RBP;
  const auto& places = only_rbp > 0 ? from_rbp : from_cfa;
  constexpr std::int64_t kMostWords = 32'000;
  for (std::size_t i = 0; i < kKept.size(); ++i) {
    const bool is_lost = (lost & 1u << kKept[i]) != 0;
    if (!is_lost && registers_[kKept[i]].IsEntry(kKept[i]))
      rule.saved[i] = PROFD_SAME;
    else if (!is_lost && places[i] && std::abs(*places[i]) <= kMostWords)
      rule.saved[i] = static_cast<__s16>(*places[i]);
    else
      rule.saved[i] = PROFD_LOST;
  }
}

profd_unwind_rule FrameState::Rule(std::uint16_t lost) const {
  auto rule = CfaRule();
  if (!rule) return kNoRule;
  SetSaved(lost, *rule);
  return *rule;
}

}  // namespace profd::unwind
