#include "client/profile/gil.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/format/exporter.h"
#include "tests/support/profile_maker.h"

namespace profd::client {
namespace {

using testing::ProfileMaker;

ProfileMaker Contenders() {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "f"}, {.weight_ns = 1'000'000, .gil = v1::GIL_HELD});
  maker.Add(thread, {"main", "f"},
            {.weight_ns = 2'000'000, .state = v1::STATE_RUNNABLE, .gil = v1::GIL_HELD});
  maker.Add(thread, {"main", "g"}, {.weight_ns = 4'000'000, .gil = v1::GIL_NOT_HELD});
  maker.Add(thread, {"main", "f"},
            {.weight_ns = 8'000'000,
             .state = v1::STATE_BLOCKED,
             .wait = v1::WAIT_GIL,
             .gil = v1::GIL_WAITED});
  maker.Add(thread, {"main", "h"}, {.weight_ns = 16'000'000, .count = 3, .gil = v1::GIL_UNKNOWN});
  maker.Add(thread, {"main", "h"}, {.weight_ns = 32'000'000});
  maker.profile().mutable_processes(0)->set_python("3.12.1");
  return maker;
}

std::string Folded(const v1::Profile& profile) {
  const Exporters exporters;
  std::ostringstream out;
  EXPECT_TRUE((*exporters.ByName("folded"))->Write(profile, {}, out));
  return out.str();
}

TEST(Gil, OnlyTimeWithItIsKept) {
  const v1::Profile profile = Contenders().Make();
  const auto held = OnlyGil(profile);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_TRUE(held->only_gil());
  EXPECT_EQ(Folded(*held),
            "demo (4242);main;f 1000\n"
            "demo (4242);main;f;[runnable:gil-holder] 2000\n");
  ASSERT_EQ(held->counters_size(), 1);
  EXPECT_EQ(held->counters(0).count(), 3u) << "nobody knows of these";
  EXPECT_EQ(held->threads(0).clock().on_cpu_ns(), profile.threads(0).clock().on_cpu_ns());
  const auto again = OnlyGil(*held);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->SerializeAsString(), held->SerializeAsString());
}

TEST(Gil, WhereNobodyHeldItTheReasonIsSaid) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main"});
  const auto native = OnlyGil(maker.Make());
  ASSERT_FALSE(native);
  EXPECT_EQ(native.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(native.error().message, "no data: nothing is known of a Python interpreter there");
  maker.profile().mutable_processes(0)->set_python("3.12.1");
  EXPECT_EQ(OnlyGil(maker.Make()).error().message, "no data: no sample has the GIL");
  maker.profile().mutable_processes(0)->set_python_refused("free-threaded\x1b");
  EXPECT_EQ(OnlyGil(maker.Make()).error().message, "no data: demo (4242): free-threaded?");
}

TEST(Gil, WhatANewerProfdMayKnowIsUnknown) {
  v1::Profile profile = Contenders().Make();
  profile.mutable_samples()->set_gil(0, static_cast<v1::Gil>(99));
  EXPECT_EQ(GilOf(profile.samples(), 0), v1::GIL_UNKNOWN);
  EXPECT_EQ(GilOf(profile.samples(), 1), v1::GIL_HELD);
  profile.mutable_samples()->clear_gil();
  EXPECT_EQ(GilOf(profile.samples(), 1), v1::GIL_NONE);
}

TEST(Gil, ADamagedProfileIsRefused) {
  v1::Profile profile = Contenders().Make();
  profile.mutable_samples()->add_gil(v1::GIL_HELD);
  EXPECT_EQ(OnlyGil(profile).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace profd::client
