#include "tests/unit/unwind/libdw_oracle.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace profd::unwind {
namespace {

// The meaning of the rule as text.
std::string Say(const profd_unwind_rule& rule) {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(), "cfa %d r%d %+d %+d flags %d ra %d rbp %d rbx %d",
                rule.cfa, rule.cfa_register, rule.offset, rule.add, rule.flags, rule.return_address,
                rule.saved[0], rule.saved[1]);
  return text.data();
}

// Another reading of operations than RuleOf's: it calculates with made-up registers and memory.
class Machine {
 public:
  static std::uint64_t Register(unsigned reg) { return 0x7f0000000000 + reg * 0x10000000ull; }
  static std::uint64_t MemoryAt(std::uint64_t address) { return address * 3 + 0x5a5a5a5a0; }

  // DWARF expression; nothing when it has an operation unknown here.
  static std::optional<std::uint64_t> Run(const Dwarf_Op* ops, std::size_t count, std::uint64_t pc,
                                          std::uint64_t cfa) {
    std::vector<std::uint64_t> stack;
    for (const Dwarf_Op* op = ops; op < ops + count; ++op) {
      const auto pop = [&] {
        const std::uint64_t value = stack.back();
        stack.pop_back();
        return value;
      };
      if (op->atom == DW_OP_call_frame_cfa) {
        stack.push_back(cfa);
      } else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg15) {
        stack.push_back(Register(op->atom - DW_OP_breg0) + op->number);
      } else if (op->atom == DW_OP_breg16) {
        stack.push_back(pc + op->number);
      } else if (op->atom == DW_OP_bregx) {
        stack.push_back(Register(static_cast<unsigned>(op->number)) + op->number2);
      } else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
        stack.push_back(op->atom - DW_OP_lit0);
      } else if (op->atom == DW_OP_plus_uconst) {
        stack.back() += op->number;
      } else if (op->atom == DW_OP_deref) {
        stack.back() = MemoryAt(stack.back());
      } else if (op->atom == DW_OP_plus) {
        const auto value = pop();
        stack.back() += value;
      } else if (op->atom == DW_OP_and) {
        const auto value = pop();
        stack.back() &= value;
      } else if (op->atom == DW_OP_shl) {
        const auto value = pop();
        stack.back() <<= value;
      } else if (op->atom == DW_OP_ge) {
        const auto value = pop();
        stack.back() = stack.back() >= value ? 1 : 0;
      } else {
        return std::nullopt;
      }
    }
    return stack.empty() ? std::nullopt : std::optional(stack.back());
  }

  // What the unwinder does with a rule.
  static std::uint64_t Cfa(const profd_unwind_rule& rule, std::uint64_t pc) {
    const std::uint64_t base =
        Register(rule.cfa_register) + static_cast<std::uint64_t>(std::int64_t{rule.offset});
    if (rule.cfa == PROFD_CFA_DEREF)
      return MemoryAt(base) + static_cast<std::uint64_t>(std::int64_t{rule.add});
    if (rule.cfa == PROFD_CFA_PLT)
      return Register(7) + 8 + ((pc & 15) >= static_cast<std::uint64_t>(rule.add) ? 8 : 0);
    return base;
  }
};

}  // namespace

LibdwOracle::LibdwOracle(int fd) {
  elf_version(EV_CURRENT);
  elf_ = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, nullptr);
  cfi_ = dwarf_getcfi_elf(elf_);
}

LibdwOracle::LibdwOracle(std::span<const std::byte> bytes) {
  elf_version(EV_CURRENT);
  elf_ = elf_memory(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())), bytes.size());
  cfi_ = dwarf_getcfi_elf(elf_);
}

LibdwOracle::~LibdwOracle() {
  if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
  elf_end(elf_);
}

void Compare(Dwarf_CFI* cfi, std::uint64_t vaddr, const profd_unwind_rule& rule, Tally& tally) {
  ++tally.requested;
  Dwarf_Frame* raw = nullptr;
  if (dwarf_cfi_addrframe(cfi, vaddr, &raw) != 0) {
    const bool from_code = (rule.flags & PROFD_RULE_FROM_CODE) != 0;
    if (from_code) ++tally.from_code;
    if (rule.cfa != PROFD_CFA_NONE && !from_code) tally.beyond.push_back(vaddr);
    return;
  }
  ASSERT_EQ(rule.flags & PROFD_RULE_FROM_CODE, 0) << std::hex << vaddr;
  const std::unique_ptr<Dwarf_Frame, void (*)(void*)> frame(raw, std::free);
  bool signal = false;
  dwarf_frame_info(raw, nullptr, nullptr, &signal);
  if (rule.cfa == PROFD_CFA_NONE) {
    ++tally.inexpressible;
    return;
  }
  ++tally.known;
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(dwarf_frame_register(raw, 16, memory, &ops, &count), 0);
  if (rule.cfa == PROFD_CFA_END) {
    ASSERT_TRUE(count == 0 && ops != nullptr) << std::hex << vaddr;
    return;
  }
  ASSERT_EQ(rule.cfa == PROFD_CFA_SIGNAL, signal) << std::hex << vaddr;
  if (signal) {  // the kernel's frame: rip is the register after rsp
    ASSERT_EQ(Machine::Run(ops, count, vaddr, 0),
              Machine::Register(7) + 168u + std::uint64_t(rule.offset));
    return;
  }
  const Dwarf_Op return_address = count == 0 ? Dwarf_Op{} : ops[0];
  const auto at = Machine::Run(ops, count, vaddr, 0);
  Dwarf_Op* cfa_ops = nullptr;
  ASSERT_EQ(dwarf_frame_cfa(raw, &cfa_ops, &count), 0);
  const auto cfa = Machine::Run(cfa_ops, count, vaddr, 0);
  ASSERT_TRUE(cfa) << std::hex << vaddr;
  ASSERT_EQ(*cfa, Machine::Cfa(rule, vaddr)) << std::hex << vaddr << " " << Say(rule);
  if ((rule.flags & PROFD_RULE_RETURN_IN_REGISTER) != 0) {
    ASSERT_EQ(return_address.atom, DW_OP_regx);
    ASSERT_EQ(return_address.number, static_cast<Dwarf_Word>(rule.return_address));
  } else {
    ASSERT_EQ(at, std::uint64_t(8 * std::int64_t{rule.return_address})) << std::hex << vaddr;
  }
  constexpr int kRegisters[] = {6, 3, 12, 13, 14, 15};
  for (int i = 0; i < PROFD_SAVED_MAX; ++i) {
    ASSERT_EQ(dwarf_frame_register(raw, kRegisters[i], memory, &ops, &count), 0);
    if (rule.saved[i] == PROFD_LOST) {
      if (count != 0) ++tally.lost;
      ASSERT_TRUE(count != 0 || (ops != nullptr && i != PROFD_SAVED_RBX)) << std::hex << vaddr;
      continue;
    }
    if (rule.saved[i] == PROFD_SAME) {
      // libdw takes rbx for a register that functions do not keep.
      ASSERT_TRUE(count == 0 && (ops == nullptr || i == PROFD_SAVED_RBX)) << std::hex << vaddr;
      continue;
    }
    const std::uint64_t base =
        (rule.flags & PROFD_RULE_SAVED_BY_RBP) != 0 ? Machine::Register(6) : *cfa;
    ASSERT_EQ(Machine::Run(ops, count, vaddr, *cfa),
              base + static_cast<std::uint64_t>(8 * std::int64_t{rule.saved[i]}))
        << std::hex << vaddr << " register " << kRegisters[i];
  }
}

const profd_unwind_rule& RuleAt(const std::vector<Row>& rows, std::uint64_t offset) {
  const auto past =
      std::upper_bound(rows.begin(), rows.end(), offset,
                       [](std::uint64_t value, const Row& row) { return value < row.offset; });
  return std::prev(past)->rule;
}

}  // namespace profd::unwind
