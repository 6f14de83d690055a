#include "daemon/unwind/service/code_coverage.h"

#include <gtest/gtest.h>

#include "daemon/unwind/code/function_rows.h"

namespace profd::unwind {
namespace {

PartRows Part(std::uint64_t covered, std::uint64_t bare) {
  PartRows part;
  part.code_bytes = covered;
  part.bare_bytes = bare;
  return part;
}

TEST(CodeCoveragesTest, AddsUpThePartsOfAFileOnceEach) {
  CodeCoverages coverages;
  PartRows first = Part(100, 20);
  first.refused[static_cast<std::size_t>(FunctionRows::Outcome::kTooLong)] = 2;
  coverages.Add("aa", 0, first);
  coverages.Add("aa", 0, first);  // loaded again after it was evicted
  coverages.Add("aa", 0x10000, Part(5, 0));
  coverages.Add("bb", 0, Part(1, 1));
  const auto all = coverages.All();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].build_id, "aa");
  EXPECT_EQ(all[0].covered_bytes, 105u);
  EXPECT_EQ(all[0].bare_bytes, 20u);
  ASSERT_EQ(all[0].refused.size(), 1u);
  EXPECT_EQ(all[0].refused[0].text, "it is too long, or what is followed before it");
  EXPECT_EQ(all[0].refused[0].count, 2u);
}

TEST(CodeCoveragesTest, LeavesOutWhatHasNoBuildIdOrNoSuchCode) {
  CodeCoverages coverages;
  coverages.Add("", 0, Part(1, 1));
  coverages.Add("aa", 0, Part(0, 0));
  EXPECT_TRUE(coverages.All().empty());
}

TEST(CodeCoveragesTest, WhatAProcessHasMadeMayChangeAndGo) {
  CodeCoverages coverages;
  coverages.AddMemory(7, 0x1000, Part(10, 1));
  coverages.AddMemory(7, 0x20000, Part(20, 2));
  PartRows changed = Part(30, 3);
  changed.refused[static_cast<std::size_t>(FunctionRows::Outcome::kUnknownJump)] = 4;
  coverages.AddMemory(7, 0x1000, changed);
  ASSERT_EQ(coverages.All().size(), 1u);
  const CodeCoverage all = coverages.All()[0];
  EXPECT_EQ(all.pid, 7u);
  EXPECT_EQ(all.build_id, "");
  EXPECT_EQ(all.covered_bytes, 50u);
  EXPECT_EQ(all.bare_bytes, 5u);
  ASSERT_EQ(all.refused.size(), 1u);
  EXPECT_EQ(all.refused[0].count, 4u);
  coverages.ForgetMemory(7, 0x1000);
  coverages.ForgetMemory(8, 0x1000);
  EXPECT_EQ(coverages.All()[0].covered_bytes, 20u);
  coverages.AddMemory(7, 0x20000, Part(0, 0));
  EXPECT_TRUE(coverages.All().empty());
  for (std::uint32_t pid = 1; pid < CodeCoverages::kMaxFiles + 10; ++pid)
    for (std::uint64_t at = 0; at < 3; ++at) coverages.AddMemory(pid, at, Part(1, 0));
  EXPECT_EQ(coverages.All().size(), CodeCoverages::kMaxFiles);
}

TEST(CodeCoveragesTest, IsBounded) {
  CodeCoverages coverages;
  for (std::size_t i = 0; i < CodeCoverages::kMaxFiles + 10; ++i)
    coverages.Add(std::to_string(i), 0, Part(1, 0));
  coverages.Add("0", 1, Part(1, 0));
  EXPECT_EQ(coverages.All().size(), CodeCoverages::kMaxFiles);
  EXPECT_EQ(coverages.All()[0].covered_bytes, 2u) << "of a file that is known";
}

}  // namespace
}  // namespace profd::unwind
