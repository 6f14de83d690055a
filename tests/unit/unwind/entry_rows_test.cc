#include "daemon/unwind/cfi/cfi_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::unwind {
namespace {

constexpr std::uint64_t kEnd = 0x1000;

profd_unwind_rule Known() {
  profd_unwind_rule rule{};
  rule.cfa = PROFD_CFA_REGISTER;
  return rule;
}

std::string Text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    const char* what = row.rule.cfa == PROFD_CFA_END        ? "end"
                       : row.rule.cfa == PROFD_CFA_REGISTER ? "known"
                                                            : "none";
    text += std::to_string(row.offset) + " " + what + "; ";
  }
  return text;
}

std::string With(std::uint64_t entry, std::vector<Row> rows) {
  EndAtEntry(entry, kEnd, rows);
  return Text(rows);
}

TEST(EntryRowsTest, AGapThatHoldsTheEntryEndsThere) {
  EXPECT_EQ(With(100, {{0, {}}}), "0 none; 100 end; 356 none; ");
  EXPECT_EQ(With(100, {{0, Known()}, {50, {}}, {120, Known()}}),
            "0 known; 50 none; 100 end; 120 known; ");
  EXPECT_EQ(With(100, {{100, {}}, {120, Known()}}), "100 end; 120 known; ");
  EXPECT_EQ(With(kEnd - 8, {{0, {}}}), "0 none; 4088 end; ");
}

TEST(EntryRowsTest, GoesOnInTheNextRange) {
  EXPECT_EQ(With(100, {{200, {}}, {400, Known()}}), "200 end; 356 none; 400 known; ");
}

TEST(EntryRowsTest, RulesStay) {
  EXPECT_EQ(With(100, {{0, Known()}}), "0 known; ");
  EXPECT_EQ(With(100, {{0, Known()}, {400, {}}}), "0 known; 400 none; ");
  EXPECT_EQ(With(kEnd, {{0, {}}}), "0 none; ");
}

}  // namespace
}  // namespace profd::unwind
