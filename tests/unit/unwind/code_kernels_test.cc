// Rules from machine code, held against a processor that carries the code out step by step.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>

#include "daemon/unwind/cfi/cfi_reader.h"
#include "tests/support/kernels/code_kernels.h"
#include "tests/unit/unwind/libdw_oracle.h"
#include "tests/unit/unwind/system_files.h"

namespace profd::unwind {
namespace {

// Registers by their DWARF numbers.
using Registers = std::array<std::uint64_t, 16>;

Registers ByDwarfNumber(const user_regs_struct& r) {
  return {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
          r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
}

constexpr std::array<std::size_t, PROFD_SAVED_MAX> kSavedNumbers{6, 3, 12, 13, 14, 15};
constexpr std::size_t kRspNumber = 7;

// The rows of this program's kernels.
class KernelRows {
 public:
  KernelRows() : bias_(LoadBias()) {
    auto file = OpenSystemFile("/proc/self/exe");
    auto reader = CfiReader::Open(std::move(file.fd), file.bytes);
    if (!reader) return;
    text_ = reader->text();
    rows_ =
        reader->ReadRows(OffsetOf(test::CodeKernelsBegin()), OffsetOf(test::CodeKernelsEnd())).rows;
  }

  [[nodiscard]] profd_unwind_rule At(std::uint64_t address) const {
    return rows_.empty() ? kNoRule : RuleAt(rows_, OffsetOf(address));
  }

 private:
  [[nodiscard]] std::uint64_t OffsetOf(std::uint64_t address) const {
    const std::uint64_t vaddr = address - bias_;
    for (const TextRange& range : text_)
      if (vaddr - range.vaddr < range.end - range.begin) return vaddr - range.vaddr + range.begin;
    return 0;
  }

  std::uint64_t bias_;
  std::vector<TextRange> text_;
  std::vector<Row> rows_;
};

void CountCall(void* argument) { ++*static_cast<int*>(argument); }

// A child that calls a kernel and is stepped through it.
class Stepped {
 public:
  explicit Stepped(test::Kernel kernel) : pid_(::fork()) {
    if (pid_ != 0) return;
    alignas(16) int calls = 0;
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    kernel(CountCall, &calls);
    ::_exit(calls);
  }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;
  ~Stepped() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // Nothing: it has ended.
  std::optional<user_regs_struct> Step() {
    int status = 0;
    user_regs_struct registers{};
    if (started_) ::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
    started_ = true;
    if (::waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status) ||
        ::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0)
      return std::nullopt;
    return registers;
  }
  [[nodiscard]] std::uint64_t Read(std::uint64_t address) const {
    return static_cast<std::uint64_t>(::ptrace(PTRACE_PEEKDATA, pid_, address, nullptr));
  }

 private:
  pid_t pid_;
  bool started_ = false;
};

class CodeKernel : public testing::TestWithParam<test::CodeKernel> {};

// As the BPF programs compute it.
std::uint64_t CfaBy(const profd_unwind_rule& rule, const Registers& registers,
                    const Stepped& child) {
  const std::uint64_t place =
      registers.at(rule.cfa_register) + static_cast<std::uint64_t>(std::int64_t{rule.offset});
  if (rule.cfa == PROFD_CFA_REGISTER) return place;
  if (rule.cfa != PROFD_CFA_DEREF) return 0;
  return child.Read(place) + static_cast<std::uint64_t>(std::int64_t{rule.add});
}

struct Call {
  Registers entry;    // right after it
  std::uint64_t cfa;  // its frame's
};

void Check(const profd_unwind_rule& rule, const Registers& now, const Call& call,
           const Stepped& child, const std::string& where) {
  ASSERT_NE(rule.cfa, PROFD_CFA_NONE) << where;
  ASSERT_NE(rule.flags & PROFD_RULE_FROM_CODE, 0) << where;
  ASSERT_EQ(CfaBy(rule, now, child), call.cfa) << where;
  const std::uint64_t base =
      (rule.flags & PROFD_RULE_SAVED_BY_RBP) != 0 ? now[kSavedNumbers[PROFD_SAVED_RBP]] : call.cfa;
  for (std::size_t i = 0; i < kSavedNumbers.size(); ++i) {
    const std::int64_t place = rule.saved[i];
    ASSERT_NE(place, PROFD_LOST) << where << ", register " << kSavedNumbers[i];
    const std::uint64_t value = place == PROFD_SAME
                                    ? now[kSavedNumbers[i]]
                                    : child.Read(base + static_cast<std::uint64_t>(place * 8));
    ASSERT_EQ(value, call.entry[kSavedNumbers[i]]) << where << ", register " << kSavedNumbers[i];
  }
}

// At each instruction of a kernel, and of what it calls that is one, too.
TEST_P(CodeKernel, CallersAndRegistersAreFoundAtEachStep) {
  const KernelRows rows;
  const auto entry = reinterpret_cast<std::uint64_t>(GetParam().run);
  Stepped child(GetParam().run);
  std::vector<Call> calls;  // kernels that have been called and have not returned
  std::size_t steps = 0;
  bool was_inside = false;
  bool was_call = false;
  while (const auto raw = child.Step()) {
    const std::uint64_t at = raw->rip;
    const bool inside =
        at - test::CodeKernelsBegin() < test::CodeKernelsEnd() - test::CodeKernelsBegin();
    const Registers now = ByDwarfNumber(*raw);
    const std::uint64_t stack = now[kRspNumber];
    if (at == entry && calls.empty()) calls.push_back({now, stack + 8});
    // A call from one kernel to another one.
    if (inside && was_inside && was_call && !calls.empty()) calls.push_back({now, stack + 8});
    while (!calls.empty() && stack >= calls.back().cfa) calls.pop_back();
    was_inside = inside;
    was_call = inside && (child.Read(at) & 0xff) == 0xe8;
    if (!inside || calls.empty()) continue;
    ++steps;
    ASSERT_NO_FATAL_FAILURE(Check(rows.At(at), now, calls.back(), child,
                                  "at +" + std::to_string(at - entry) + " of " + GetParam().name));
  }
  EXPECT_GT(steps, 4u);
  EXPECT_TRUE(calls.empty());
}

INSTANTIATE_TEST_SUITE_P(All, CodeKernel, testing::ValuesIn(test::CodeKernels()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace profd::unwind
