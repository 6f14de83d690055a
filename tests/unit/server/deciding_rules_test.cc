#include "daemon/server/grpc/convert/deciding_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Stacks of one thread on a CPU, a sample each.
class DecidingRulesTest : public testing::Test {
 protected:
  DecidingRulesTest() {
    profile_.processes.emplace_back();
    profile_.threads.emplace_back();
    profile_.nodes.emplace_back();
  }

  // Root first; "f_[k]" is a frame of the kernel, "" has no name.
  aggregate::ProfileSample& Add(const std::vector<std::string>& stack) {
    std::uint32_t parent = 0;
    for (std::string name : stack) {
      symbolize::Frame frame;
      if (name.ends_with("_[k]")) {
        frame.kind = symbolize::FrameKind::kKernel;
        name.resize(name.size() - 4);
      }
      frame.name = name;
      frame.module = "libx.so";
      profile_.nodes.push_back({parent, static_cast<std::uint32_t>(profile_.frames.size())});
      profile_.frames.push_back(frame);
      parent = static_cast<std::uint32_t>(profile_.nodes.size()) - 1;
    }
    aggregate::ProfileSample sample;
    sample.weight_ns = 1;
    sample.node = parent;
    return profile_.samples.emplace_back(sample);
  }

  [[nodiscard]] v1::Profile Convert(const std::string& rules) const {
    const auto set = rules::RuleSet::Make(*rules::ParseRules(rules, "r.toml"));
    return ToProto(profile_, set->get());
  }
  // The classes that decide, by sample.
  [[nodiscard]] std::vector<int> Classes(const std::string& rules) const {
    const v1::Profile proto = Convert(rules);
    std::vector<int> classes;
    for (const auto rule : proto.samples().rule())
      classes.push_back(rule == 0 ? 0 : proto.rules(static_cast<int>(rule) - 1).frame_class());
    return classes;
  }

  aggregate::Profile profile_;
};

constexpr const char* kRules =
    "[[rule]]\nclass = 'spin'\nfunction = 'wait'\n"
    "[[rule]]\nclass = 'runtime'\nfunction = 'task'\n"
    "[[rule]]\nclass = 'spin'\nfunction = 'pool'\nleaf = true\n"
    "[[rule]]\nclass = 'spin'\nfunction = ''\nleaf = true\n"
    "[[rule]]\nclass = 'gpu-wait'\nfunction = 'sync'\n";

TEST_F(DecidingRulesTest, TheInnermostFrameWithARuleDecides) {
  Add({"main", "wait"});
  Add({"main", "wait", "pause"});
  Add({"main", "wait", "task", "compute"});
  Add({"main", "task", "wait", "irq_[k]"});
  Add({"main", "sync", "clock_gettime"});
  Add({"main", "compute"});
  EXPECT_THAT(Classes(kRules), ElementsAre(v1::CLASS_SPIN, v1::CLASS_SPIN, v1::CLASS_RUNTIME,
                                           v1::CLASS_SPIN, v1::CLASS_GPU_WAIT, v1::CLASS_NONE));
}

TEST_F(DecidingRulesTest, ARuleForLeavesSaysNothingOfWhatTheyCall) {
  Add({"main", "pool"});
  Add({"main", "pool", "syscall_[k]", "schedule_[k]"});
  Add({"main", "pool", "compute"});
  Add({"main", "pool", "compute", "fault_[k]"});
  Add({"main", "wait", "pool", "compute"});
  Add({""});
  Add({"", "compute"});
  EXPECT_THAT(Classes(kRules),
              ElementsAre(v1::CLASS_SPIN, v1::CLASS_SPIN, v1::CLASS_NONE, v1::CLASS_NONE,
                          v1::CLASS_SPIN, v1::CLASS_SPIN, v1::CLASS_NONE));
}

TEST_F(DecidingRulesTest, OnlyTimeOnACpuIsJudged) {
  Add({"wait"}).state = process::State::kBlocked;
  Add({"wait"}).state = process::State::kRunnable;
  Add({"wait"});
  Add({}).count = 0;
  const v1::Profile proto = Convert(kRules);
  EXPECT_THAT(proto.samples().rule(), ElementsAre(0u, 0u, 1u, 0u));
}

TEST_F(DecidingRulesTest, WhichFrameDecidedIsSaid) {
  Add({"main", "sync", "ioctl", "read_[k]"});
  Add({"main", "pool", "syscall_[k]", "schedule_[k]"});
  Add({"main", "wait", "task"});
  Add({"main"});
  const v1::Profile proto = Convert(kRules);
  std::vector<std::string> names;
  for (const auto node : proto.samples().rule_node()) {
    const auto at = static_cast<int>(node) - 1;
    names.push_back(at < 0 ? "" : proto.frames(proto.nodes(at).frame()).name());
  }
  EXPECT_THAT(names, ElementsAre("sync", "pool", "task", ""));
}

TEST_F(DecidingRulesTest, TheProfileCarriesTheRulesThatDecided) {
  Add({"sync"});
  Add({"wait"});
  Add({"sync"});
  profile_.threads[0].clock.stolen_ns[PROFD_STOLEN_EXACT] = 5;  // one more sample, at the begin
  const v1::Profile proto = Convert(kRules);
  ASSERT_EQ(proto.rules_size(), 2);
  EXPECT_EQ(proto.rules(0).frame_class(), v1::CLASS_GPU_WAIT);
  EXPECT_EQ(proto.rules(0).function(), "sync");
  EXPECT_FALSE(proto.rules(0).has_module());
  EXPECT_EQ(proto.rules(0).place(), "r.toml:15");
  EXPECT_THAT(proto.samples().rule(), ElementsAre(1u, 2u, 1u, 0u));
}

// A dump has the same stacks, leaf first.
TEST_F(DecidingRulesTest, ThreadsOfADumpAreJudgedAsSamplesAre) {
  const std::vector<std::vector<std::string>> stacks = {{"main", "wait"},
                                                        {"main", "wait", "pause"},
                                                        {"main", "wait", "task", "compute"},
                                                        {"main", "task", "wait", "irq_[k]"},
                                                        {"main", "sync", "clock_gettime"},
                                                        {"main", "pool"},
                                                        {"main", "pool", "compute"},
                                                        {"main", "pool", "compute", "fault_[k]"},
                                                        {"main", "compute"}};
  aggregate::Dump dump;
  dump.processes.emplace_back();
  for (const auto& stack : stacks) {
    std::uint32_t node = Add(stack).node;
    aggregate::DumpThread thread;
    for (; node != 0; node = profile_.nodes[node].parent)
      thread.frames.push_back(profile_.nodes[node].frame);
    dump.threads.push_back(thread);
  }
  dump.frames = profile_.frames;
  dump.threads.push_back(dump.threads[0]);
  dump.threads.back().state = process::State::kRunnable;
  const auto set = rules::RuleSet::Make(*rules::ParseRules(kRules, "r.toml"));
  std::vector<int> classes;
  const v1::Dump proto = ToProto(dump, set->get());
  for (const v1::DumpThread& thread : proto.threads())
    classes.push_back(thread.rule().frame_class());
  std::vector<int> expected = Classes(kRules);
  expected.push_back(v1::CLASS_NONE);  // without a CPU
  EXPECT_EQ(classes, expected);
  EXPECT_EQ(proto.threads(0).rule().place(), "r.toml:1");
  const v1::Dump unjudged = ToProto(dump);
  for (const v1::DumpThread& thread : unjudged.threads()) EXPECT_FALSE(thread.has_rule());
}

TEST_F(DecidingRulesTest, WithoutADecisionThereIsNoColumn) {
  Add({"main"});
  EXPECT_THAT(Convert(kRules).samples().rule(), IsEmpty());
  Add({"wait"});
  EXPECT_THAT(ToProto(profile_).samples().rule(), IsEmpty()) << "without rules";
  EXPECT_EQ(ToProto(profile_).rules_size(), 0);
}

}  // namespace
}  // namespace profd::server
