#include "daemon/server/grpc/convert/frame_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kRules =
    "[[operator]]\nname = 'aten::{op}'\nfunction = 'ops::(?P<op>\\w+)::\\w+'\n"
    "[[operator]]\nname = 'aten::mm'\nrank = 2\nfunction = 'mm_kernel'\n"
    "[[phase]]\nname = 'backward'\nfunction = 'engine'\n"
    "[[phase]]\nname = 'other'\nfunction = 'ops::mm::call'\n";

v1::Profile Convert(const std::vector<std::string>& functions,
                    symbolize::FrameKind kind = symbolize::FrameKind::kNative) {
  aggregate::Profile profile;
  for (const std::string& function : functions) {
    symbolize::Frame& frame = profile.frames.emplace_back();
    frame.name = function;
    frame.kind = kind;
  }
  const auto set = rules::RuleSet::Make(*rules::ParseRules(kRules, "r.toml"));
  return ToProto(profile, set->get());
}

TEST(FrameOperators, MethodsOfKnownInterfacesHaveTheirNames) {
  const auto set = rules::RuleSet::Make(
      *rules::ParseRules("[[method]]\ninterface = 'lib::Kernel'\nvirtual = 2\nname = 'Compute'\n"
                         "[[operator]]\nname = '{op}'\nfunction = 'lib::(?P<op>\\w+)::Compute'\n",
                         "r.toml"));
  symbolize::Frame frame;
  frame.name = "lib::Conv::(virtual 2)";
  frame.symbol = "_ZTSN3lib4ConvE::(virtual 2) of _ZTSN3lib6KernelE";
  aggregate::Profile profile;
  profile.frames.push_back(frame);
  const v1::Profile proto = ToProto(profile, set->get());
  EXPECT_EQ(proto.frames(0).name(), "lib::Conv::Compute");
  EXPECT_EQ(proto.frames(0).symbol(), frame.symbol) << "it says where the name is from";
  EXPECT_EQ(proto.operators(0).name(), "Conv");
  EXPECT_EQ(ToProto(profile, nullptr).frames(0).name(), frame.name);
  aggregate::Dump dump;
  dump.frames.push_back(frame);
  EXPECT_EQ(ToProto(dump, set->get()).frames(0).name(), "lib::Conv::Compute");
}

TEST(FrameOperators, FramesPointAtTheOperatorsOfTheProfile) {
  const v1::Profile proto =
      Convert({"main", "ops::mm::call", "ops::add::call", "mm_kernel", "ops::mm::redispatch"});
  std::vector<std::uint32_t> ops;
  for (const v1::Frame& frame : proto.frames()) ops.push_back(frame.op());
  EXPECT_THAT(ops, ElementsAre(0u, 1u, 2u, 3u, 1u));
  std::vector<std::string> names;
  std::vector<std::uint32_t> ranks;
  for (const v1::Operator& op : proto.operators()) {
    names.push_back(op.name());
    ranks.push_back(op.rank());
  }
  EXPECT_THAT(names, ElementsAre("aten::mm", "aten::add", "aten::mm"));
  EXPECT_THAT(ranks, ElementsAre(1u, 1u, 2u));
}

TEST(FrameOperators, FramesBeginPhases) {
  const v1::Profile proto = Convert({"main", "engine", "ops::mm::call"});
  std::vector<int> phases;
  for (const v1::Frame& frame : proto.frames()) phases.push_back(frame.phase());
  EXPECT_THAT(phases, ElementsAre(v1::PHASE_NONE, v1::PHASE_BACKWARD, v1::PHASE_OTHER));
}

TEST(FrameOperators, TheKernelRunsNone) {
  const v1::Profile proto = Convert({"ops::mm::call"}, symbolize::FrameKind::kKernel);
  EXPECT_EQ(proto.frames(0).op(), 0u);
  EXPECT_EQ(proto.frames(0).phase(), v1::PHASE_NONE);
  EXPECT_THAT(proto.operators(), IsEmpty());
}

TEST(FrameOperators, WithoutRulesThereAreNone) {
  aggregate::Profile profile;
  profile.frames.emplace_back().name = "ops::mm::call";
  const v1::Profile proto = ToProto(profile);
  EXPECT_EQ(proto.frames(0).op(), 0u);
  EXPECT_THAT(proto.operators(), IsEmpty());
}

TEST(FrameOperators, NamesAreValidText) {
  EXPECT_EQ(Convert({"ops::m\xff::call"}).operators_size(), 0) << "no letter";
  const auto set = rules::RuleSet::Make(
      *rules::ParseRules("[[operator]]\nname = '{op}'\nfunction = '(?P<op>.*)'\n", "r.toml"));
  aggregate::Profile profile;
  profile.frames.emplace_back().name = "m\xff";
  EXPECT_EQ(ToProto(profile, set->get()).operators(0).name(), "m\uFFFD");
}

}  // namespace
}  // namespace profd::server
