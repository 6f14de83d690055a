#include "daemon/aggregate/labels/label_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bpf/shared/labels.h"

namespace profd::aggregate {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr ProcessKey kProcess{10, 1};
constexpr ProcessKey kOther{11, 2};

process::LabelKeysRef Keys(std::vector<std::string> names, std::uint64_t image_ns = 0) {
  return std::make_shared<const process::LabelKeys>(
      process::LabelKeys{image_ns, std::move(names), ""});
}

process::Sample Labelled(const process::LabelKeysRef& keys, char key, const std::string& value,
                         ProcessKey process = kProcess) {
  profd_label_head head{};
  head.attribute_bytes = static_cast<__u16>(2 + value.size());
  process::Sample sample;
  sample.process = process;
  sample.labels.assign(reinterpret_cast<const char*>(&head), sizeof head);
  sample.labels += std::string(1, key) + static_cast<char>(value.size()) + value;
  sample.label_keys = keys;
  return sample;
}

TEST(LabelSetsTest, EqualRecordsOfAProcessAreOneSet) {
  LabelSets sets;
  const auto keys = Keys({"step"});
  const auto first = sets.Intern(Labelled(keys, 0, "1"));
  EXPECT_NE(first, 0u);
  EXPECT_EQ(sets.Intern(Labelled(keys, 0, "1")), first);
  EXPECT_NE(sets.Intern(Labelled(keys, 0, "2")), first);
  EXPECT_NE(sets.Intern(Labelled(keys, 0, "1", kOther)), first) << "its names may differ";
  EXPECT_EQ(sets.Intern(process::Sample{}), 0u);
  EXPECT_THAT(sets.Resolve(first), ElementsAre(Pair("step", "1")));
}

TEST(LabelSetsTest, ATraceAndItsSpanAreLabels) {
  LabelSets sets;
  const auto keys = Keys({"step"});
  process::Sample sample = Labelled(keys, 0, "1");
  profd_label_head head{};
  std::memcpy(&head, sample.labels.data(), sizeof head);
  head.trace_id[0] = 0x0a;
  head.trace_id[15] = 0xfe;
  head.span_id[7] = 2;
  std::memcpy(sample.labels.data(), &head, sizeof head);
  const auto set = sets.Intern(sample);
  EXPECT_THAT(sets.Resolve(set), ElementsAre(Pair("span_id", "0000000000000002"), Pair("step", "1"),
                                             Pair("trace_id", "0a0000000000000000000000000000fe")));
  EXPECT_NE(sets.Intern(Labelled(keys, 0, "1")), set) << "without a trace it is another set";
}

TEST(LabelSetsTest, ANameMayComeLater) {
  LabelSets sets;
  const auto set = sets.Intern(Labelled(Keys({"step"}), 1, "load"));
  EXPECT_THAT(sets.Resolve(set), ElementsAre(Pair("label 1", "load")));
  sets.Update(kOther, Keys({"step", "wrong"}));
  EXPECT_THAT(sets.Resolve(set), ElementsAre(Pair("label 1", "load")));
  sets.Update(kProcess, Keys({"step", "phase"}));
  EXPECT_THAT(sets.Resolve(set), ElementsAre(Pair("phase", "load")));
}

TEST(LabelSetsTest, AnotherProgramOfAProcessHasItsOwnNames) {
  LabelSets sets;
  const auto before = sets.Intern(Labelled(Keys({"step"}), 0, "1"));
  const auto after = sets.Intern(Labelled(Keys({"route"}, 500), 0, "1"));
  EXPECT_THAT(sets.Resolve(before), ElementsAre(Pair("step", "1")));
  EXPECT_THAT(sets.Resolve(after), ElementsAre(Pair("route", "1")));
}

TEST(LabelSetsTest, PartsWithoutLabelsCostNothing) {
  LabelSets sets;
  sets.SetPart(0, 0);
  sets.SetPart(1, 0);
  EXPECT_EQ(sets.bytes(), 0u);
  sets.SetPart(3, 7);
  EXPECT_EQ(sets.OfPart(2), 0u);
  EXPECT_EQ(sets.OfPart(3), 7u);
  EXPECT_EQ(sets.OfPart(4), 0u);
}

TEST(LabelSetsTest, TooManyAreCounted) {
  LabelSets sets;
  const auto keys = Keys({"id"});
  const std::string filler(200, 'x');
  std::uint64_t refused = 0;
  for (int i = 0; i < 300'000; ++i)
    if (sets.Intern(Labelled(keys, 0, filler + std::to_string(i))) == 0) ++refused;
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(sets.refused(), refused);
  EXPECT_LE(sets.bytes(), LabelSets::kMaxBytes + LabelSets::kMaxSets * 100);
}

}  // namespace
}  // namespace profd::aggregate
