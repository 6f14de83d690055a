#include "daemon/unwind/cfi_reader.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <libelf.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "daemon/unwind/rule_table.h"
#include "daemon/unwind/stretch_builder.h"
#include "tests/unit/unwind/system_files.h"

namespace profd::unwind {
namespace {

// libdw, asked directly about a file that it opened itself, by its section headers.
class Oracle {
 public:
  explicit Oracle(int fd) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, nullptr);
    cfi_ = dwarf_getcfi_elf(elf_);
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() {
    if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
    elf_end(elf_);
  }
  [[nodiscard]] Dwarf_CFI* cfi() const { return cfi_; }

 private:
  Elf* elf_;
  Dwarf_CFI* cfi_;
};

// The rule's meaning in words.
std::string Say(const profd_unwind_rule& rule) {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(), "cfa %d r%d %+d %+d flags %d ra %d rbp %d rbx %d",
                rule.cfa, rule.cfa_register, rule.offset, rule.add, rule.flags, rule.return_address,
                rule.saved[0], rule.saved[1]);
  return text.data();
}

// Holds the rule against the operations that libdw gives for the address; a rule that says less
// than libdw is right only where it says nothing. Another reading than RuleOf's: it calculates with
// made-up registers and memory.
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

struct Tally {
  std::size_t asked = 0;
  std::size_t known = 0;
  std::size_t inexpressible = 0;  // libdw knows a rule, ours is none
  std::size_t lost = 0;           // registers that libdw knows and the rule does not
};

void Compare(Dwarf_CFI* cfi, std::uint64_t vaddr, const profd_unwind_rule& rule, Tally& tally) {
  ++tally.asked;
  Dwarf_Frame* raw = nullptr;
  if (dwarf_cfi_addrframe(cfi, vaddr, &raw) != 0) {
    ASSERT_EQ(rule.cfa, PROFD_CFA_NONE) << std::hex << vaddr;
    return;
  }
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
      ASSERT_TRUE(count != 0 || ops != nullptr) << std::hex << vaddr;
      continue;
    }
    if (rule.saved[i] == PROFD_SAME) {
      ASSERT_TRUE(count == 0 && ops == nullptr) << std::hex << vaddr;
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

class SystemFile : public testing::TestWithParam<std::string> {};

// Random addresses, and the first and last ones of rows, in some stretches of each file.
TEST_P(SystemFile, RowsSayWhatLibdwSays) {
  OpenFile file = OpenSystemFile(GetParam());
  const Oracle oracle(file.fd.get());
  ASSERT_NE(oracle.cfi(), nullptr);
  auto opened = OpenSystemFile(GetParam());
  auto reader = CfiReader::Open(std::move(opened.fd), opened.bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  std::mt19937_64 random(7);
  Tally tally;
  for (const TextRange& range : reader->text()) {
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t any = range.begin + random() % (range.end - range.begin);
      const std::uint64_t begin = any / kStretchBytes * kStretchBytes;
      const auto rows = reader->ReadRows(begin, begin + kStretchBytes);
      ASSERT_EQ(rows.front().offset, begin);
      const std::uint64_t from = std::max(begin, range.begin);
      const std::uint64_t to = std::min(begin + kStretchBytes, range.end);
      const auto compare = [&](std::uint64_t offset) {
        if (offset < from || offset >= to) return;
        Compare(oracle.cfi(), offset - range.begin + range.vaddr, RuleAt(rows, offset), tally);
      };
      for (int j = 0; j < 200 && !HasFatalFailure(); ++j) compare(from + random() % (to - from));
      for (int j = 0; j < 200 && !HasFatalFailure(); ++j) {
        const std::uint64_t edge = rows[random() % rows.size()].offset;
        compare(edge);
        compare(edge - 1);
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(reader->damaged(), 0u);
  EXPECT_GT(tally.known, 0u);
  EXPECT_LE(tally.inexpressible * 1000, tally.asked);
  EXPECT_LE(tally.lost * 1000, tally.asked);
  std::printf("%zu asked, %zu with a rule, %zu inexpressible, %zu registers lost\n", tally.asked,
              tally.known, tally.inexpressible, tally.lost);
}

// Not a limit: for the record.
TEST_P(SystemFile, PrintsSizes) {
  auto file = OpenSystemFile(GetParam());
  const auto begin = std::chrono::steady_clock::now();
  auto reader = CfiReader::Open(std::move(file.fd), file.bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto opened = std::chrono::steady_clock::now();
  RuleTable rules({});
  std::size_t rows = 0;
  std::size_t packed_bytes = 0;
  std::size_t stretches = 0;
  std::chrono::nanoseconds longest{0};
  const std::uint64_t first = reader->text().front().begin / kStretchBytes;
  const std::uint64_t last = (reader->text().back().end - 1) / kStretchBytes;
  for (std::uint64_t i = first; i <= last; ++i) {
    const auto before = std::chrono::steady_clock::now();
    const auto packed = PackStretch(reader->ReadRows(i * kStretchBytes, (i + 1) * kStretchBytes),
                                    i * kStretchBytes, rules);
    longest =
        std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - before);
    rows += packed.rows;
    packed_bytes += packed.bytes.size();
    stretches += packed.bytes.empty() ? 0 : 1;
    EXPECT_EQ(packed.cut_blocks, 0u);
  }
  EXPECT_EQ(rules.refused(), 0u);
  EXPECT_GT(rows, 0u);
  const auto ms = [](auto duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  };
  std::printf(
      "%s: open %.1f ms, all %.1f ms, longest stretch %.1f ms, %zu rows, %zu rules, %zu "
      "stretches, %zu bytes, whole %d, cpython %d\n",
      GetParam().c_str(), ms(opened - begin), ms(std::chrono::steady_clock::now() - begin),
      ms(longest), rows, rules.rules().size(), stretches, packed_bytes, reader->small(),
      reader->cpython());
}

INSTANTIATE_TEST_SUITE_P(All, SystemFile, testing::ValuesIn(SystemFiles()));

TEST(CfiReader, InterpretersAreKnownByTheirSymbols) {
  auto python = OpenSystemFile("/usr/bin/python3.11");
  if (!python.fd.valid()) GTEST_SKIP() << "no python3.11 here";
  EXPECT_TRUE(CfiReader::Open(std::move(python.fd), python.bytes)->cpython());
  auto bash = OpenSystemFile("/usr/bin/bash");
  EXPECT_FALSE(CfiReader::Open(std::move(bash.fd), bash.bytes)->cpython());
}

TEST(CfiReader, WhatIsNoElfFileIsAnError) {
  const std::vector<std::byte> nothing(100);
  EXPECT_FALSE(CfiReader::FromMemory(nothing));
  auto text = OpenSystemFile("/etc/passwd");
  EXPECT_FALSE(CfiReader::Open(std::move(text.fd), text.bytes));
}

}  // namespace
}  // namespace profd::unwind
