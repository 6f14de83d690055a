#include "client/screens/summary/stack_facts.h"

#include <gtest/gtest.h>

#include "bpf/shared/events.h"
#include "client/screens/summary/summary.h"
#include "tests/support/profile_maker.h"

namespace profd::client {
namespace {

static_assert(kStackHasNoUserPart == PROFD_STACK_NO_USER);
static_assert(kStackByFramePointer == PROFD_STACK_UNCERTAIN);

// Samples of one thread, so many of each kind.
v1::Profile ProfileWith(std::uint32_t certain, std::uint32_t uncertain) {
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto add = [&](const char* leaf, std::uint32_t count, std::uint32_t flags) {
    maker.Add(thread, {"main", leaf}, {.count = count});
    auto& all = *maker.profile().mutable_samples()->mutable_stack_flags();
    all.Set(all.size() - 1, flags);
  };
  add("f", certain, PROFD_STACK_COMPLETE);
  add("g", uncertain, PROFD_STACK_COMPLETE | PROFD_STACK_UNCERTAIN);
  add("kthread_[k]", 1'000, PROFD_STACK_NO_USER);
  return maker.Make();
}

std::string Rendered(const v1::Profile& profile, bool complete) {
  SummaryOptions options;
  options.complete = complete;
  return RenderSummary(profile, options);
}

constexpr const char* kNote =
    "note    17 of 117 stacks go on by frame pointer\n"
    "        where code has no unwind rules: callers beyond may be wrong or missing\n";

TEST(StackFactsTest, CountsTheMarksOfStacksWithAUserPart) {
  const StackFacts facts = StackFactsOf(ProfileWith(100, 17));
  EXPECT_EQ(facts.stacks, 117u);
  EXPECT_EQ(facts.by_frame_pointer, 17u);
}

TEST(StackFactsTest, TheSummarySaysSoWhereItIsMoreThanAHundredth) {
  EXPECT_NE(Rendered(ProfileWith(100, 17), false).find(kNote), std::string::npos)
      << Rendered(ProfileWith(100, 17), false);
  EXPECT_EQ(Rendered(ProfileWith(990, 10), false).find("frame pointer"), std::string::npos);
  EXPECT_NE(Rendered(ProfileWith(990, 10), true).find("10 of 1,000 stacks go on by frame pointer"),
            std::string::npos)
      << Rendered(ProfileWith(990, 10), true);
  EXPECT_EQ(Rendered(ProfileWith(100, 0), true).find("frame pointer"), std::string::npos);
}

}  // namespace
}  // namespace profd::client
