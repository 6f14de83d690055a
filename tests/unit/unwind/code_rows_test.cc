// Rules from machine code, held against `.eh_frame` of the same functions.
#include "daemon/unwind/code/code_rows.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "daemon/elf/file/byte_source.h"
#include "daemon/unwind/cfi/cfi_reader.h"
#include "daemon/unwind/cfi/frame_index.h"
#include "daemon/unwind/code/instruction.h"
#include "daemon/unwind/tables/chunk_builder.h"
#include "tests/unit/unwind/libdw_oracle.h"
#include "tests/unit/unwind/system_files.h"

namespace profd::unwind {
namespace {

// All text of a file as if it had no unwind information; functions begin where FDEs do.
class FileCode : public Code {
 public:
  FileCode(const ElfText& text, const FrameIndex& index) : text_(text) {
    for (const TextRange& range : text.text())
      ranges_[range.vaddr] = *text.file().source().Copy(range.begin, range.end - range.begin);
    for (const auto& entry : index.entries()) begins_[entry.begin] = CodeBegin::kFunction;
  }
  [[nodiscard]] std::span<const std::uint8_t> At(std::uint64_t address) const override {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return {};
    --range;
    const std::uint64_t at = address - range->first;
    if (at >= range->second.size()) return {};
    return std::span(reinterpret_cast<const std::uint8_t*>(range->second.data()) + at,
                     std::min(range->second.size() - at, kMaxInstructionBytes));
  }
  [[nodiscard]] CodeBegin BeginAt(std::uint64_t address) const override {
    const auto begin = begins_.find(address);
    return begin == begins_.end() ? CodeBegin::kNothing : begin->second;
  }
  [[nodiscard]] std::vector<std::uint64_t> ReadTable(std::uint64_t address, bool distances,
                                                     std::size_t limit) const override {
    std::vector<std::uint64_t> targets;
    if (!distances) return targets;
    const auto part = text_.file().PartAt(address);
    if (!part) return targets;
    const std::size_t count = std::min<std::uint64_t>(limit, part->bytes / 4);
    const auto bytes = text_.file().source().Copy(part->offset, count * 4);
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t distance = 0;
      std::memcpy(&distance, bytes->data() + i * 4, 4);
      targets.push_back(address + static_cast<std::uint64_t>(std::int64_t{distance}));
    }
    return targets;
  }
  void SetPart(std::uint64_t begin) { begins_[begin] = CodeBegin::kPart; }

 private:
  const ElfText& text_;
  std::map<std::uint64_t, std::string> ranges_;
  std::map<std::uint64_t, CodeBegin> begins_;
};

// As far as both say something of it, the same.
bool Agree(const profd_unwind_rule& code, const profd_unwind_rule& cfi) {
  return code.cfa == cfi.cfa && code.cfa_register == cfi.cfa_register &&
         code.offset == cfi.offset && code.add == cfi.add;
}

std::string KindOf(const profd_unwind_rule& code, const profd_unwind_rule& cfi) {
  const auto name = [](const profd_unwind_rule& rule) {
    return std::to_string(rule.cfa) + ":r" + std::to_string(rule.cfa_register);
  };
  if (name(code) == name(cfi)) return "another distance, " + name(code);
  return name(code) + " for " + name(cfi);
}

struct Held {
  std::uint64_t bytes = 0;  // of functions that were followed
  std::uint64_t covered = 0;
  std::uint64_t agree = 0;
  std::uint64_t other_register = 0;
  std::map<std::string, std::uint64_t> differences;
  // Of saved registers, so many for each byte.
  std::uint64_t saved = 0;
  std::uint64_t saved_agree = 0;
  std::map<std::string, std::uint64_t> saved_differences;
};

// Where the caller's registers are, as far as both say so. Where a register has been saved and has
// its value still, either may be said.
void CompareSaved(const profd_unwind_rule& code, const profd_unwind_rule& cfi, std::uint64_t bytes,
                  Held& held) {
  if (((code.flags | cfi.flags) & PROFD_RULE_SAVED_BY_RBP) != 0) return;
  for (std::size_t i = 0; i < PROFD_SAVED_MAX; ++i) {
    const int by_code = code.saved[i];
    const int by_cfi = cfi.saved[i];
    if (by_code == PROFD_LOST || by_cfi == PROFD_LOST) continue;
    held.saved += bytes;
    if (by_code == by_cfi || by_code == PROFD_SAME) {
      held.saved_agree += bytes;
      continue;
    }
    held.saved_differences["register " + std::to_string(i) +
                           (by_cfi == PROFD_SAME ? " is saved, and has its value by .eh_frame"
                                                 : " is saved elsewhere")] += bytes;
  }
}

// `rows`: what `.eh_frame` says.
void Compare(const std::vector<FunctionRows::Piece>& pieces, const std::vector<Row>& rows,
             std::uint64_t bias, Held& held) {
  for (const auto& piece : pieces) {
    const profd_unwind_rule& cfi = RuleAt(rows, piece.range.begin - bias);
    const std::uint64_t bytes = piece.range.end - piece.range.begin;
    if (piece.rule.cfa == PROFD_CFA_NONE || cfi.cfa == PROFD_CFA_NONE) continue;
    if (cfi.cfa == PROFD_CFA_PLT) continue;  // one rule for all entries, which says the same
    held.covered += bytes;
    CompareSaved(piece.rule, cfi, bytes, held);
    if (Agree(piece.rule, cfi))
      held.agree += bytes;
    else if (piece.rule.cfa_register != cfi.cfa_register)
      held.other_register += bytes;
    else
      held.differences[KindOf(piece.rule, cfi)] += bytes;
  }
}

double Percent(std::uint64_t part, std::uint64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void Print(const Held& held) {
  std::printf("%.2f %% of %.2f %% equal, %.3f %% by another register\n",
              Percent(held.agree, held.covered), Percent(held.covered, held.bytes),
              Percent(held.other_register, held.covered));
  for (const auto& [kind, bytes] : held.differences)
    std::printf("%8llu bytes: %s\n", static_cast<unsigned long long>(bytes), kind.c_str());
  std::printf("%.3f %% of saved registers where .eh_frame has them\n",
              Percent(held.saved_agree, held.saved));
  for (const auto& [kind, bytes] : held.saved_differences)
    std::printf("%8llu bytes: %s\n", static_cast<unsigned long long>(bytes), kind.c_str());
}

class CodeRowsOfFile : public testing::TestWithParam<std::string> {};

// Functions as the FDEs give them. Parts that are entered by a jump have FDEs of their own, whose
// first row says that something is on the stack: they are no functions.
TEST_P(CodeRowsOfFile, SayWhatEhFrameSays) {
  auto file = OpenSystemFile(GetParam());
  if (!file.fd.valid()) GTEST_SKIP() << GetParam() << " is not here";
  auto text = ElfText::Read(std::make_unique<elf::FileBytes>(file.fd.get(), file.bytes));
  ASSERT_TRUE(text) << text.error().message;
  const auto index = FrameIndex::Read(*text);
  ASSERT_TRUE(index) << index.error().message;
  auto again = OpenSystemFile(GetParam());
  auto reader = CfiReader::Open(std::move(again.fd), again.bytes);
  ASSERT_TRUE(reader);

  FileCode code(*text, *index);
  Held held;
  for (const TextRange& range : text->text()) {
    const auto rows = reader->ReadRows(range.begin, range.end).rows;
    const std::uint64_t bias = range.vaddr - range.begin;
    const auto [first, past] =
        index->Overlapping(range.vaddr, range.vaddr + range.end - range.begin);
    const auto is_function = [&](std::uint64_t begin) {
      const profd_unwind_rule& rule = RuleAt(rows, begin - bias);
      return rule.cfa == PROFD_CFA_REGISTER && rule.cfa_register == 7 && rule.offset == 8;
    };
    for (std::size_t i = first; i < past; ++i)
      if (!is_function(index->entries()[i].begin)) code.SetPart(index->entries()[i].begin);
    for (std::size_t i = first; i < past; ++i) {
      const std::uint64_t begin = index->entries()[i].begin;
      if (code.BeginAt(begin) != CodeBegin::kFunction) continue;
      std::uint64_t budget = CodeRows::kMaxDecoded;
      const auto function = FollowFunction(code, begin, StartKind::kListed, budget);
      const std::uint64_t next = i + 1 < past ? index->entries()[i + 1].begin : begin;
      held.bytes += next - begin;
      Compare(function.pieces, rows, bias, held);
    }
  }
  Print(held);
  // The others have the same CFA by another register, as `%rax + 8` for `%rsp + 8`.
  EXPECT_GE(held.agree * 1000, held.covered * 985);
  EXPECT_GE((held.agree + held.other_register) * 1000, held.covered * 999);
  EXPECT_GE(held.covered * 100, held.bytes * 75);
  // In a large function of libcrypto, .eh_frame calls the rbp that it pushes rbx.
  EXPECT_GE(held.saved_agree * 1000, held.saved * 998);
}

// As of a file that is stripped and has no unwind information: functions are found by their calls
// and by their places.
TEST_P(CodeRowsOfFile, SayItAlsoWhereNothingListsFunctions) {
  auto file = OpenSystemFile(GetParam());
  if (!file.fd.valid()) GTEST_SKIP() << GetParam() << " is not here";
  auto text = ElfText::Read(std::make_unique<elf::FileBytes>(file.fd.get(), file.bytes));
  ASSERT_TRUE(text) << text.error().message;
  auto again = OpenSystemFile(GetParam());
  auto reader = CfiReader::Open(std::move(again.fd), again.bytes);
  ASSERT_TRUE(reader);
  const CodeRows code_rows(
      [&](std::uint64_t address, std::uint64_t bytes) -> Result<std::string> {
        const auto part = text->file().PartAt(address);
        if (!part) return Error{};
        return text->file().source().Copy(part->offset, std::min(part->bytes, bytes));
      },
      CodeStarts());
  const auto index = FrameIndex::Read(*text);
  ASSERT_TRUE(index) << index.error().message;
  std::uint64_t functions = 0;
  std::uint64_t true_functions = 0;
  Held held;
  for (const TextRange& range : text->text()) {
    const std::uint64_t bias = range.vaddr - range.begin;
    const std::vector<CodeRange> gaps{{range.vaddr, range.vaddr + (range.end - range.begin)}};
    // Each byte once, in pieces of one rule, which may go over rows of `.eh_frame`.
    for (std::uint64_t begin = range.begin; begin < range.end; begin += kChunkBytes) {
      const std::uint64_t end = std::min(begin + kChunkBytes, range.end);
      const auto rows = reader->ReadRows(begin, end).rows;
      std::vector<FunctionRows::Piece> bytes;
      const auto found = code_rows.Find({begin + bias, end + bias}, gaps);
      std::uint64_t last_end = 0;
      for (const CodeRange& function : found.functions) {
        ASSERT_LE(last_end, function.begin);
        ASSERT_LT(function.begin, function.end);
        last_end = function.end;
        ++functions;
        if (std::ranges::binary_search(index->entries(), function.begin, {},
                                       &FrameIndex::Entry::begin))
          ++true_functions;
      }
      for (const auto& piece : found.pieces)
        for (std::uint64_t at = piece.range.begin; at < piece.range.end; ++at)
          bytes.push_back({{at, at + 1}, piece.rule});
      Compare(bytes, rows, bias, held);
      held.bytes += end - begin;
    }
  }
  Print(held);
  EXPECT_GE((held.agree + held.other_register) * 100, held.covered * 99);
  EXPECT_GE(held.saved_agree * 100, held.saved * 99);
  EXPECT_GE(held.covered * 100,
            held.bytes * 15);  // the rest is beyond the bound of work, or not sure
  std::printf("%.1f %% of %llu functions begin where an FDE does\n",
              Percent(true_functions, functions), static_cast<unsigned long long>(functions));
  // The entries of a linkage table are functions, too, with one FDE for all.
  EXPECT_GE(true_functions * 100, functions * 90);
}

INSTANTIATE_TEST_SUITE_P(System, CodeRowsOfFile,
                         testing::Values("/usr/lib/x86_64-linux-gnu/libc.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"),
                         [](const auto& one) {
                           std::string name = one.param.substr(one.param.rfind('/') + 1);
                           name = name.substr(0, name.find('.'));
                           std::erase(name, '+');
                           return name;
                         });

}  // namespace
}  // namespace profd::unwind
