#include "daemon/source/probe/hook_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::source {
namespace {

using testing::ElementsAre;

std::vector<std::string> NamesOf(const HookLevels& found) {
  std::vector<std::string> names;
  for (const HookLevel& level : found.levels) names.push_back(NameOf(level));
  return names;
}

TEST(HookLevels, BestLevelFirst) {
  const HookLevels found = MakeHookLevels(true, {"finish_task_switch.isra.0"}, {});
  EXPECT_THAT(NamesOf(found),
              ElementsAre("sched_exit_tp", "kprobe finish_task_switch.isra.0", "none (snapshots)"));
  EXPECT_EQ(found.passed_over, "");
}

TEST(HookLevels, SaysWhyABetterLevelIsMissing) {
  const HookLevels second = MakeHookLevels(false, {"finish_task_switch"}, {});
  EXPECT_THAT(NamesOf(second), ElementsAre("kprobe finish_task_switch", "none (snapshots)"));
  EXPECT_EQ(second.passed_over, "sched_exit_tp: this kernel has none");
  const HookLevels last = MakeHookLevels(false, {}, {});
  EXPECT_THAT(NamesOf(last), ElementsAre("none (snapshots)"));
  EXPECT_EQ(last.passed_over,
            "sched_exit_tp: this kernel has none; kprobe: no function finish_task_switch");
}

TEST(HookLevels, ForcingLeavesOneLevel) {
  EXPECT_THAT(NamesOf(MakeHookLevels(true, {"finish_task_switch"}, PROFD_HOOK_FINISH_TASK)),
              ElementsAre("kprobe finish_task_switch"));
  EXPECT_THAT(NamesOf(MakeHookLevels(true, {"finish_task_switch"}, PROFD_HOOK_NONE)),
              ElementsAre("none (snapshots)"));
  EXPECT_THAT(NamesOf(MakeHookLevels(false, {"x"}, PROFD_HOOK_SCHED_EXIT)), ElementsAre());
}

TEST(HookLevels, NamesWhatHasNoHook) {
  EXPECT_EQ(HookName(PROFD_HOOK_NONE), "none (snapshots)");
  EXPECT_EQ(HookName(PROFD_HOOK_NONE + 1), "unknown");
}

TEST(HookLevels, FindsTheFunctionAndItsClonesNotItsPieces) {
  EXPECT_THAT(
      FinishTaskSymbols("ffffffff813a2270 t __pfx_finish_task_switch.isra.0\n"
                        "ffffffff813a2280 t finish_task_switch.isra.0\n"
                        "ffffffff813a2290 t finish_task_switch.isra.1\n"
                        "ffffffff813a2280 t finish_task_switch.isra.0\n"
                        "ffffffff813a22a0 t finish_task_switch.cold\n"
                        "ffffffff813a22b0 t finish_task_switch.part.0\n"
                        "ffffffff813a22c0 t finish_task_switched\n"
                        "ffffffffc0000000 t finish_task_switch\t[module]\n"
                        "broken line\nfinish_task_switch\n\nffff t"),
      ElementsAre("finish_task_switch", "finish_task_switch.isra.0", "finish_task_switch.isra.1"));
  EXPECT_THAT(FinishTaskSymbols(""), ElementsAre());
}

}  // namespace
}  // namespace profd::source
