#include "client/profile/check_profile.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

TEST(CheckProfile, AcceptsWhatProfdMakes) {
  EXPECT_TRUE(CheckProfile(v1::Profile()));
  EXPECT_TRUE(CheckProfile(testing::EmptyProfile()));
  EXPECT_TRUE(CheckProfile(testing::SmallProfile()));
  EXPECT_TRUE(CheckProfile(testing::WaitingProfile()));
  EXPECT_TRUE(CheckProfile(testing::LabelledProfile()));
  EXPECT_TRUE(CheckProfile(testing::LargeProfile(5000)));
}

TEST(CheckProfile, NamesTheFirstThingThatIsWrong) {
  using Damage = std::function<void(v1::Profile&)>;
  const std::pair<const char*, Damage> kCases[] = {
      {"thread 0 points at process 1 of 1",
       [](v1::Profile& p) { p.mutable_threads(0)->set_process(1); }},
      {"stack node 2 points at frame 4294967295 of 7",
       [](v1::Profile& p) { p.mutable_nodes(1)->set_frame(~0u); }},
      {"frame 2 points at module 4 of 0",
       [](v1::Profile& p) { p.mutable_frames(2)->set_module_info(5); }},
      {"stack node 3 stands before its parent",
       [](v1::Profile& p) { p.mutable_nodes(2)->set_parent(3); }},
      {"sample 5 points at thread 2 of 2",
       [](v1::Profile& p) { p.mutable_samples()->set_thread(5, 2); }},
      {"sample 0 points at stack node 8 of 8",
       [](v1::Profile& p) { p.mutable_samples()->set_node(0, 8); }},
      {"sample 1 is in no known state",
       [](v1::Profile& p) { p.mutable_samples()->set_state(1, static_cast<v1::State>(3)); }},
      {"its sample columns differ in length",
       [](v1::Profile& p) { p.mutable_samples()->add_exact(true); }},
      {"its sample columns differ in length",
       [](v1::Profile& p) { p.mutable_samples()->add_gil(v1::GIL_HELD); }},
      {"its sample columns differ in length",
       [](v1::Profile& p) { p.mutable_samples()->add_rule(0); }},
      {"sample 0 points at rule 1 of 1",
       [](v1::Profile& p) {
         const int size = p.samples().weight_ns_size();
         p.mutable_samples()->mutable_rule()->Resize(size, 1);
         p.mutable_samples()->mutable_rule_node()->Resize(size, 1);
       }},
      {"sample 0 points at node of its rule 8 of 8",
       [](v1::Profile& p) {
         const int size = p.samples().weight_ns_size();
         p.mutable_samples()->mutable_rule()->Resize(size, 0);
         p.mutable_samples()->mutable_rule_node()->Resize(size, 8);
       }},
      {"its sample columns differ in length",
       [](v1::Profile& p) { p.mutable_samples()->add_labels(0); }},
      {"sample 0 points at labels 1 of 1",
       [](v1::Profile& p) {
         p.mutable_samples()->mutable_labels()->Resize(p.samples().weight_ns_size(), 1);
       }},
      {"its weights add up to too much",
       [](v1::Profile& p) {
         p.mutable_samples()->set_weight_ns(0, std::numeric_limits<std::int64_t>::max());
       }},
  };
  ASSERT_EQ(testing::SmallProfile().frames_size(), 7);
  ASSERT_EQ(testing::SmallProfile().nodes_size(), 7);
  for (const auto& [text, damage] : kCases) {
    v1::Profile profile = testing::SmallProfile();
    damage(profile);
    const auto checked = CheckProfile(profile);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(checked.error().message, std::string("the profile is damaged: ") + text);
  }
}

TEST(CheckProfile, RefusesConcurrencyThatDoesNotAddUp) {
  v1::Profile profile = testing::PoolProfile();
  EXPECT_TRUE(CheckProfile(profile));
  v1::Concurrency& concurrency = *profile.mutable_processes(0)->mutable_concurrency();
  concurrency.mutable_levels(1)->set_running(1);
  EXPECT_EQ(CheckProfile(profile).error().message,
            "the profile is damaged: the concurrency of process 0 does not add up");
  concurrency.mutable_levels(1)->set_threads(0);
  EXPECT_EQ(CheckProfile(profile).error().message,
            "the profile is damaged: the concurrency of process 0 makes no sense");
  concurrency.mutable_levels(1)->set_threads(1);
  concurrency.mutable_levels(1)->set_wanting(~0ull);
  EXPECT_FALSE(CheckProfile(profile));
}

TEST(CheckProfile, RefusesDamagedPaths) {
  using Damage = std::function<void(v1::Profile&)>;
  const std::pair<const char*, Damage> kCases[] = {
      {"path 2 points at thread 3 of 3", [](v1::Profile& p) { p.mutable_paths(1)->set_thread(3); }},
      {"path 1 points at stack node 4294967295 of 12",
       [](v1::Profile& p) { p.mutable_paths(0)->set_node(~0u); }},
      {"path 4 stands before its parent",
       [](v1::Profile& p) { p.mutable_paths(3)->set_parent(4); }},
      {"sample 3 points at path 10 of 10",
       [](v1::Profile& p) { p.mutable_samples()->set_path(3, 10); }},
      {"its sample columns differ in length",
       [](v1::Profile& p) { p.mutable_samples()->add_path(0); }},
      {"wake-up 1 points at thread 2 of 2",
       [](v1::Profile& p) { p.mutable_wake_ups(1)->set_thread(2); }},
      {"wake-up 0 points at waker 2 of 2",
       [](v1::Profile& p) { p.mutable_wake_ups(0)->set_waker(2); }},
  };
  ASSERT_EQ(testing::WaitingProfile().paths_size(), 9);
  ASSERT_EQ(testing::WaitingProfile().nodes_size(), 11);
  for (const auto& [text, damage] : kCases) {
    v1::Profile profile = testing::WaitingProfile();
    damage(profile);
    const auto checked = CheckProfile(profile);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(checked.error().message, std::string("the profile is damaged: ") + text);
  }
}

TEST(CheckProfile, RefusesDamagedSwitches) {
  using Damage = std::function<void(v1::Switches&)>;
  const std::pair<const char*, Damage> kCases[] = {
      {"its columns of switches differ in length", [](v1::Switches& s) { s.add_cpu(0); }},
      {"switch 2 points at thread 9 of 2", [](v1::Switches& s) { s.set_thread(2, 9); }},
      {"switch 0 ends before it begins", [](v1::Switches& s) { s.set_ready_ns(0, 1); }},
      {"switch 1 ends before it begins", [](v1::Switches& s) { s.set_in_ns(1, 1); }},
      {"switch 1 begins before the thread is back", [](v1::Switches& s) { s.set_in_ns(0, 0); }},
      {"its switches are not in order of threads", [](v1::Switches& s) { s.set_thread(0, 1); }},
      {"its switches are incomplete for a thread that it does not have",
       [](v1::Switches& s) { s.add_incomplete(2); }},
  };
  EXPECT_TRUE(CheckProfile(testing::SwitchesProfile()));
  for (const auto& [text, damage] : kCases) {
    v1::Profile profile = testing::SwitchesProfile();
    damage(*profile.mutable_switches());
    const auto checked = CheckProfile(profile);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().message, std::string("the profile is damaged: ") + text);
  }
}

TEST(CheckProfile, BoundsTheLengthOfPaths) {
  constexpr std::uint32_t kMost = 64;
  v1::Profile profile;
  for (std::uint32_t i = 0; i < kMost; ++i) profile.add_paths()->set_parent(i);
  EXPECT_TRUE(CheckProfile(profile));
  profile.add_paths()->set_parent(kMost);
  EXPECT_FALSE(CheckProfile(profile));
}

TEST(CheckProfile, BoundsTheDepthOfStacks) {
  v1::Profile profile;
  profile.add_frames();
  for (std::uint32_t i = 0; i < kMaxStackDepth; ++i) {
    v1::StackNode* node = profile.add_nodes();
    node->set_parent(i);
  }
  EXPECT_TRUE(CheckProfile(profile));
  profile.add_nodes()->set_parent(kMaxStackDepth);
  EXPECT_FALSE(CheckProfile(profile));
}

}  // namespace
}  // namespace profd::client
