// Rules for code made at run time, of which nothing says where its functions begin.
#include "daemon/unwind/code/memory_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/unwind/tables/chunk_builder.h"
#include "tests/unit/unwind/libdw_oracle.h"

namespace profd::unwind {
namespace {

constexpr CodeRange kMapping{0x7f0000000000, 0x7f0000100000};
constexpr std::uint64_t kPage = 0x3000;  // where the function begins
constexpr std::string_view kNop("\x66\x0f\x1f\x84\0\0\0\0\0", 9);
constexpr std::uint64_t kNops = 16'384;  // more than two parts
constexpr std::uint64_t kFunctionBytes = kNops * kNop.size() + 3;

// One large function on pages of its own: push %rbx; nops; pop %rbx; ret.
std::string Memory() {
  std::string memory(kMapping.end - kMapping.begin, '\0');
  std::string function = "\x53";
  for (std::uint64_t i = 0; i < kNops; ++i) function += kNop;
  function += "\x5b\xc3";
  memory.replace(kPage, function.size(), function);
  return memory;
}

TEST(MemoryRows, AFunctionOfSeveralPartsHasRulesInEach) {
  const std::string memory = Memory();
  const auto read = [&](std::uint64_t address, std::uint64_t bytes) -> Result<std::string> {
    if (address < kMapping.begin || address >= kMapping.end) return Error{};
    return memory.substr(address - kMapping.begin, bytes);
  };
  std::uint64_t covered = 0;
  for (std::uint64_t begin = kMapping.begin; begin < kMapping.begin + 4 * kChunkBytes;
       begin += kChunkBytes) {
    const PartRows part = MemoryRows({begin, begin + kChunkBytes}, kMapping, read);
    covered += part.code_bytes;
    for (std::uint64_t at = begin - kMapping.begin; at < begin - kMapping.begin + kChunkBytes;
         at += 0x100) {
      const profd_unwind_rule& rule = RuleAt(part.rows, at);
      const bool inside = at > kPage && at < kPage + kFunctionBytes;
      ASSERT_EQ(rule.cfa == PROFD_CFA_REGISTER && rule.offset == 16, inside) << std::hex << at;
    }
  }
  EXPECT_EQ(covered, kFunctionBytes);
}

// Of functions that are marked or called; what only looks like one may be none.
TEST(MemoryRows, TheReasonIsKeptWhereThereIsCertainlyAFunction) {
  std::string memory(kMapping.end - kMapping.begin, '\0');
  constexpr std::string_view kMark = "\xf3\x0f\x1e\xfa";
  const auto put = [&](std::uint64_t at, const std::string& code) {
    memory.replace(at, code.size(), code);
  };
  const std::string unbalanced = "\x53\x31\xc0\xc3";  // push %rbx; xor; ret
  put(0x100, std::string(kMark) + unbalanced);
  put(0x200, unbalanced);                                   // not marked
  put(0x300, std::string(kMark) + "\x53\xff\xe0");          // push %rbx; jmp *%rax
  put(0x400, std::string(kMark) + "\x31\xdb\xc3");          // xor %ebx,%ebx; ret
  put(0x1000, std::string("\xe8\xfb\x01\x00\x00\xc3", 6));  // call 0x1200; ret
  put(0x1200, unbalanced);
  const auto read = [&](std::uint64_t address, std::uint64_t bytes) -> Result<std::string> {
    if (address < kMapping.begin || address >= kMapping.end) return Error{};
    return memory.substr(address - kMapping.begin, bytes);
  };
  const PartRows part = MemoryRows({kMapping.begin, kMapping.begin + kChunkBytes}, kMapping, read);
  using Outcome = FunctionRows::Outcome;
  RefusedFunctions expected{};
  expected.at(static_cast<std::size_t>(Outcome::kUnbalanced)) = 2;
  expected.at(static_cast<std::size_t>(Outcome::kUnknownJump)) = 1;
  expected.at(static_cast<std::size_t>(Outcome::kChanged)) = 1;
  EXPECT_EQ(part.refused, expected);
  EXPECT_EQ(part.code_bytes, 6u);
  EXPECT_EQ(part.bare_bytes, 8u + 4 + 7 + 7 + 4);
}

TEST(MemoryFunctions, OneThatBeginsAPageIsOneInEachOfItsParts) {
  std::string memory = Memory();
  // Behind it, where only its place says that a function begins, and on a page of its own.
  const std::uint64_t behind = (kPage + kFunctionBytes) / 16 * 16 + 16;
  memory.replace(behind, 3, "\x31\xc0\xc3");
  const std::uint64_t next = behind / 0x1000 * 0x1000 + 0x1000;
  memory.replace(next, 3, "\x31\xc0\xc3");
  const auto read = [&](std::uint64_t address, std::uint64_t bytes) -> Result<std::string> {
    if (address < kMapping.begin || address >= kMapping.end) return Error{};
    return memory.substr(address - kMapping.begin, bytes);
  };
  const CodeRange large{kMapping.begin + kPage, kMapping.begin + kPage + kFunctionBytes};
  const CodeRange small{kMapping.begin + next, kMapping.begin + next + 3};
  for (std::uint64_t begin = kMapping.begin; begin < kMapping.end; begin += kChunkBytes) {
    const CodeRange part{begin, begin + kChunkBytes};
    std::vector<CodeRange> expected;
    for (const CodeRange& function : {large, small})
      if (function.begin < part.end && function.end > part.begin) expected.push_back(function);
    EXPECT_EQ(MemoryFunctions(part, kMapping, read), expected) << std::hex << begin;
  }
}

// What the process says of its code counts, and stands for what its code shows.
TEST(MemoryRows, KnownRulesGoFirst) {
  const std::string memory = Memory();
  const auto read = [&](std::uint64_t address, std::uint64_t bytes) -> Result<std::string> {
    if (address < kMapping.begin || address >= kMapping.end) return Error{};
    return memory.substr(address - kMapping.begin, bytes);
  };
  profd_unwind_rule rule{};
  rule.cfa = PROFD_CFA_REGISTER;
  rule.offset = 4'000;
  const std::uint64_t begin = kMapping.begin + 0x100;
  const std::array known{FunctionRows::Piece{{begin, begin + 0x10}, rule},
                         FunctionRows::Piece{{begin + 0x10, begin + 0x20}, kNoRule},
                         FunctionRows::Piece{{begin + 0x20, begin + 0x30}, rule}};
  const PartRows part =
      MemoryRows({kMapping.begin, kMapping.begin + kChunkBytes}, kMapping, read, known);
  EXPECT_EQ(RuleAt(part.rows, 0xff).offset, 0);
  EXPECT_EQ(RuleAt(part.rows, 0x100).offset, 4'000);
  EXPECT_EQ(RuleAt(part.rows, 0x10f).offset, 4'000);
  EXPECT_EQ(RuleAt(part.rows, 0x110).cfa, PROFD_CFA_NONE);
  EXPECT_EQ(RuleAt(part.rows, 0x12f).offset, 4'000);
  EXPECT_EQ(RuleAt(part.rows, 0x130).cfa, PROFD_CFA_NONE);
  EXPECT_EQ(RuleAt(part.rows, kPage + 0x100).offset, 16) << "the code shows the others";
  const std::array all{FunctionRows::Piece{{kMapping.begin, kMapping.begin + kChunkBytes}, rule}};
  const PartRows covered =
      MemoryRows({kMapping.begin, kMapping.begin + kChunkBytes}, kMapping, read, all);
  EXPECT_EQ(covered.rows.size(), 1u);
  EXPECT_EQ(covered.code_bytes, 0u);
}

}  // namespace
}  // namespace profd::unwind
