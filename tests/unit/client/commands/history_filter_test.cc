// What a flag of query lets pass: from the flag over the protocol to the store's filter.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "client/commands/query.h"
#include "daemon/server/grpc/convert/convert.h"
#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

store::Filter FilterOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "query");
  const QueryOptions options = OptionsOf<QueryVerb>(std::move(arguments));
  const auto plan = server::ToPlan(options.question.request, 10'000'000'000'000);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return plan ? plan->filter : store::Filter{};
}

// Of a thread that has another value in every field.
struct Someone {
  Someone() {
    process.key = {41, 1};
    process.shown_pid = 41;
    process.comm = "comm";
    process.executable = "exe";
    process.cgroup = "cgroup";
    process.container = "container";
    process.unit = "unit";
    process.owner = {.uid = 7, .sole = true, .user = "user"};
    process.labels = {{"service.name", "cart"}};
    thread.key = {42, 1};
    thread.shown_tid = 42;
    thread.comm = "thread";
    sample.state = process::State::kBlocked;
    sample.wait = process::WaitReason::kLock;
  }
  [[nodiscard]] bool Passes(const store::Filter& filter) const {
    return Matches(filter, process) && Matches(filter, thread) && Matches(filter, sample);
  }
  aggregate::ProfileProcess process;
  aggregate::ProfileThread thread;
  aggregate::ProfileSample sample;
};

struct Flag {
  const char* name;
  const char* value;  // the thread's
  const char* other;  // that another field of it has, or none
};

class HistoryFilterTest : public ::testing::TestWithParam<Flag> {};

TEST_P(HistoryFilterTest, LetsPassWhoHasTheValueInThatField) {
  const Flag& flag = GetParam();
  const Someone someone;
  EXPECT_TRUE(someone.Passes(FilterOf({flag.name, flag.value})));
  EXPECT_FALSE(someone.Passes(FilterOf({flag.name, flag.other})));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, HistoryFilterTest,
    ::testing::Values(Flag{"-p", "41", "42"}, Flag{"--comm", "comm", "thread"},
                      Flag{"--exe", "exe", "comm"}, Flag{"--cgroup", "cgroup", "unit"},
                      Flag{"--container", "container", "unit"}, Flag{"--unit", "unit", "container"},
                      Flag{"--user", "user", "comm"}, Flag{"--thread", "thread", "comm"},
                      Flag{"--label", "service.name=c*", "service.name=comm"},
                      Flag{"--state", "blocked", "running"}, Flag{"--wait", "lock", "io"}),
    [](const auto& flag) {
      std::string name = flag.param.name;
      return name.substr(name.find_first_not_of('-'));
    });

TEST(HistoryFilter, EveryWordForAStateAndAReasonIsThatState) {
  for (const auto& [word, state] : {std::pair{"on_cpu", process::State::kOnCpu},
                                    {"running", process::State::kOnCpu},
                                    {"runnable", process::State::kRunnable},
                                    {"blocked", process::State::kBlocked}})
    EXPECT_EQ(FilterOf({"--state", word}).state, state) << word;
  using process::WaitReason;
  for (const auto& [word, wait] : {std::pair{"lock", WaitReason::kLock},
                                   {"gil", WaitReason::kGil},
                                   {"io", WaitReason::kIo},
                                   {"driver", WaitReason::kDriver},
                                   {"kernel", WaitReason::kKernel},
                                   {"sleep", WaitReason::kSleep},
                                   {"poll", WaitReason::kPoll},
                                   {"net", WaitReason::kNet},
                                   {"pipe", WaitReason::kPipe},
                                   {"child", WaitReason::kChild},
                                   {"fault", WaitReason::kFault},
                                   {"other", WaitReason::kOther}})
    EXPECT_EQ(FilterOf({"--wait", word}).wait, wait) << word;
}

}  // namespace
}  // namespace profd::client
