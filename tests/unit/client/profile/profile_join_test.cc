#include "client/profile/join/profile_join.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/profile/check_profile.h"
#include "client/profile/host_names.h"
#include "client/profile/labels/label_values.h"
#include "client/profile/report/report_table.h"
#include "client/profile/stack_names.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/profile/random_profile.h"

namespace profd::client {
namespace {

std::string Stack(const v1::Profile& profile, std::uint32_t node) {
  std::string text;
  while (node != 0) {
    const v1::StackNode& at = profile.nodes(static_cast<int>(node) - 1);
    const v1::Frame& frame = profile.frames(static_cast<int>(at.frame()));
    text += frame.name() + "@" + std::to_string(frame.kind());
    // Of kernel frames the first host's address stands.
    if (frame.kind() != v1::FRAME_KERNEL) text += "+" + std::to_string(frame.offset());
    if (frame.module_info() != 0)
      text += profile.modules(static_cast<int>(frame.module_info()) - 1).path();
    if (frame.op() != 0) text += profile.operators(static_cast<int>(frame.op()) - 1).name();
    text += "<";
    node = at.parent();
  }
  return text;
}

std::string Path(const v1::Profile& profile, std::uint32_t path) {
  std::string text;
  while (path != 0) {
    const v1::PathNode& at = profile.paths(static_cast<int>(path) - 1);
    if (at.thread() != 0) {
      const v1::PathThread& thread = profile.path_threads(static_cast<int>(at.thread()) - 1);
      text += thread.comm() + std::to_string(thread.tid());
    }
    text += "/" + Stack(profile, at.node()) + "|";
    path = at.parent();
  }
  return text;
}

std::string Thread(const v1::Profile& profile, std::uint32_t number) {
  const v1::Thread& thread = profile.threads(static_cast<int>(number));
  const v1::Process& process = profile.processes(static_cast<int>(thread.process()));
  return std::to_string(process.pid()) + process.comm() + " " + std::to_string(thread.tid()) +
         thread.comm() + " " + std::to_string(thread.clock().on_cpu_ns());
}

std::string Host(const v1::Profile& profile, std::uint32_t thread, const std::string& host) {
  const v1::Thread& one = profile.threads(static_cast<int>(thread));
  return host.empty() ? std::string(HostOf(profile.processes(static_cast<int>(one.process()))))
                      : host;
}

// Everything that a sample says but its time, and its CPU, which has other numbers in a join.
std::string Everything(const v1::Profile& profile, int i, const std::string& host) {
  const v1::Samples& samples = profile.samples();
  std::string text = Host(profile, samples.thread(i), host) + " " +
                     Thread(profile, samples.thread(i)) + " " + Stack(profile, samples.node(i));
  text += " state " + std::to_string(samples.state(i)) + " " + std::to_string(samples.wait(i));
  text += samples.exact(i) ? " exact" : "";
  text += " flags " + std::to_string(samples.stack_flags(i));
  text += " gil " + std::to_string(samples.gil_size() == 0 ? 0 : samples.gil(i));
  text += " edges " + std::to_string(samples.edges(i));
  if (samples.rule(i) != 0)
    text += " rule " + profile.rules(static_cast<int>(samples.rule(i)) - 1).place();
  text += " at " + Stack(profile, samples.rule_node(i)) + " " + Path(profile, samples.path(i));
  return text + " " + LabelsText(profile, LabelsOf(profile, i));
}

struct Sums {
  std::map<std::string, std::array<std::uint64_t, 3>> samples;  // weight, raw weight, count
  std::multiset<std::string> others;  // wake-ups, events of steps, switches, clocks

  bool operator==(const Sums&) const = default;
};

void AddTo(Sums& sums, const v1::Profile& profile, const std::string& host) {
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    auto& sum = sums.samples[Everything(profile, i, host)];
    sum[0] += profile.samples().weight_ns(i);
    sum[1] += profile.samples().raw_weight_ns(i);
    sum[2] += profile.samples().count(i);
  }
  const auto who = [&](std::uint32_t thread) {
    return Host(profile, thread, host) + " " + Thread(profile, thread) + " ";
  };
  for (int i = 0; i < profile.threads_size(); ++i)
    sums.others.insert(who(static_cast<std::uint32_t>(i)));
  for (const v1::WakeUps& wakes : profile.wake_ups())
    sums.others.insert(who(wakes.thread()) + "by " +
                       profile.path_threads(static_cast<int>(wakes.waker())).comm() + " " +
                       std::to_string(wakes.waits()));
  const v1::StepEvents& events = profile.step_events();
  for (int i = 0; i < events.time_ns_size(); ++i)
    sums.others.insert(who(events.thread(i)) + (events.end(i) ? "ends " : "begins ") +
                       profile.step_sources(static_cast<int>(events.source(i))).text() + " " +
                       profile.step_names(static_cast<int>(events.name(i))));
  const v1::Switches& switches = profile.switches();
  for (int i = 0; i < switches.thread_size(); ++i)
    sums.others.insert(who(switches.thread(i)) + "is out for " +
                       std::to_string(switches.ready_ns(i) - switches.out_ns(i)) + " " +
                       std::to_string(switches.in_ns(i) == 0) + " " +
                       std::to_string(switches.woken_ns(i) == 0));
  for (const std::uint32_t thread : switches.incomplete())
    sums.others.insert(who(thread) + "is incomplete");
}

std::map<std::string, std::uint64_t> TableOf(const v1::Profile& profile, const std::string& key) {
  const auto keys = ParseReportKeys(key);
  std::map<std::string, std::uint64_t> sums;
  const KeyContext context{.profile = profile,
                           .style = {},
                           .operators = nullptr,
                           .label = (*keys)[0]->label,
                           .steps = nullptr};
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
    sums[(*keys)[0]->text(context, (*keys)[0]->number(context, i))] +=
        profile.samples().weight_ns(i);
  return sums;
}

const v1::NamedCount* NoteIn(const v1::Profile& profile, const std::string& name) {
  for (const v1::NamedCount& note : profile.counters())
    if (note.name() == name) return &note;
  return nullptr;
}

TEST(ProfileJoin, OneProfileStaysAsItIs) {
  const v1::Profile alone = RandomProfile(1).Make();
  ProfileJoin join;
  ASSERT_TRUE(join.Add(alone, {.name = "web1", .begin_unix_ns = 5}));
  EXPECT_EQ(join.Finish().SerializeAsString(), alone.SerializeAsString());
}

TEST(ProfileJoin, AllSumsAreThoseOfTheParts) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    ProfileJoin join;
    Sums parts;
    const std::uint32_t hosts = 2 + seed % 5;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      const v1::Profile part = RandomProfile(seed * 100 + host).Make();
      ASSERT_TRUE(CheckProfile(part));
      const std::string name = "web" + std::to_string(host);
      AddTo(parts, part, name);
      ASSERT_TRUE(join.Add(part, {name, part.start_unix_ns()}));
    }
    const v1::Profile joined = join.Finish();
    const auto sound = CheckProfile(joined);
    ASSERT_TRUE(sound) << sound.error().message;
    EXPECT_TRUE(std::ranges::is_sorted(joined.samples().time_ns()));
    Sums sums;
    AddTo(sums, joined, "");
    ASSERT_EQ(sums, parts) << "seed " << seed;
    EXPECT_EQ(TableOf(joined, "host"), TableOf(joined, "label:host.name"));
    EXPECT_EQ(TableOf(joined, "host").size(), hosts);
  }
}

TEST(ProfileJoin, EqualEntriesBecomeOne) {
  const v1::Profile part = testing::TypicalProfile();
  ProfileJoin join;
  for (int host = 0; host < 10; ++host)
    ASSERT_TRUE(join.Add(part, {"web" + std::to_string(host), part.start_unix_ns()}));
  const v1::Profile joined = join.Finish();
  EXPECT_EQ(joined.frames_size(), part.frames_size());
  EXPECT_EQ(joined.nodes_size(), part.nodes_size());
  EXPECT_EQ(joined.threads_size(), 10 * part.threads_size());
  EXPECT_EQ(joined.host(), "web0, web1, web2, web3, web4, web5, web6, web7 and 2 more");
  EXPECT_EQ(NoteIn(joined, "join_hosts")->count(), 10u);
}

// Two hosts have booted at other times; what happened at one instant stands at one instant.
TEST(ProfileJoin, TimesAreThoseOfOneClock) {
  v1::Profile first = testing::SmallProfile();
  v1::Profile later = testing::SmallProfile();
  const std::uint64_t unix_ns = first.start_unix_ns();
  const std::uint64_t far_ns = 77'000'000'000'000;
  const auto move = [&](std::uint64_t& time_ns) { time_ns += far_ns; };
  later.set_start_ns(later.start_ns() + far_ns);
  later.set_end_ns(later.end_ns() + far_ns);
  std::ranges::for_each(*later.mutable_samples()->mutable_time_ns(), move);
  for (v1::Thread& thread : *later.mutable_threads()) {
    thread.set_begin_ns(thread.begin_ns() + far_ns);
    thread.set_end_ns(thread.end_ns() + far_ns);
  }
  constexpr std::uint64_t kLaterNs = 20'000'000;
  for (const bool later_comes_first : {false, true}) {
    ProfileJoin join;
    const auto add_later = [&] { return join.Add(later, {"b", unix_ns + kLaterNs}).ok(); };
    ASSERT_TRUE(!later_comes_first || add_later());
    ASSERT_TRUE(join.Add(first, {"a", unix_ns}));
    ASSERT_TRUE(later_comes_first || add_later());
    const v1::Profile joined = join.Finish();
    EXPECT_EQ(joined.end_ns() - joined.start_ns(), first.end_ns() - first.start_ns() + kLaterNs);
    EXPECT_EQ(NoteIn(joined, "join_clocks"), nullptr);
    for (const v1::Thread& thread : joined.threads()) {
      const bool on_b = HostOf(joined.processes(static_cast<int>(thread.process()))) == "b";
      EXPECT_EQ(thread.begin_ns() - joined.start_ns(),
                first.threads(0).begin_ns() - first.start_ns() + (on_b ? kLaterNs : 0));
    }
  }
}

TEST(ProfileJoin, ClockThatCannotBeRightIsPutBesideTheFirst) {
  v1::Profile part = testing::SmallProfile();
  ProfileJoin join;
  ASSERT_TRUE(join.Add(part, {"a", part.start_unix_ns()}));
  ASSERT_TRUE(join.Add(part, {"b", 0}));
  const v1::Profile joined = join.Finish();
  EXPECT_EQ(joined.start_ns(), part.start_ns());
  EXPECT_EQ(NoteIn(joined, "join_clocks")->count(), 1u);
}

TEST(ProfileJoin, WhatOneHostLacksIsLeftOutAndSaid) {
  v1::Profile with = RandomProfile(7).Make();
  v1::Profile without = RandomProfile(8).Make();
  without.mutable_samples()->clear_edges();
  ProfileJoin join;
  ASSERT_TRUE(join.Add(with, {"a", with.start_unix_ns()}));
  ASSERT_TRUE(join.Add(without, {"b", without.start_unix_ns()}));
  const v1::Profile joined = join.Finish();
  EXPECT_TRUE(CheckProfile(joined));
  EXPECT_TRUE(joined.samples().edges().empty());
  EXPECT_NE(NoteIn(joined, "join_errors"), nullptr);
}

TEST(ProfileJoin, NoTwoCpusAreOne) {
  v1::Profile part = RandomProfile(3).Make();
  part.mutable_samples()->clear_cpu();
  for (int i = 0; i < part.samples().weight_ns_size(); ++i)
    part.mutable_samples()->add_cpu(1 + static_cast<std::uint32_t>(i) % 4);
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) {
    v1::CpuPlace& place = *part.add_cpu_places();
    place.set_cpu(cpu);
    place.set_core(cpu & ~1u);
  }
  ProfileJoin join;
  for (const char* host : {"a", "b", "c"})
    ASSERT_TRUE(join.Add(part, {host, part.start_unix_ns()}));
  const v1::Profile joined = join.Finish();
  std::map<std::uint32_t, std::set<std::string_view>> hosts;
  const v1::Samples& samples = joined.samples();
  for (int i = 0; i < samples.cpu_size(); ++i) {
    const v1::Thread& thread = joined.threads(static_cast<int>(samples.thread(i)));
    hosts[samples.cpu(i)].insert(HostOf(joined.processes(static_cast<int>(thread.process()))));
  }
  EXPECT_EQ(hosts.size(), 12u);
  for (const auto& [cpu, of] : hosts) EXPECT_EQ(of.size(), 1u) << cpu;
  EXPECT_EQ(joined.cpu_places_size(), 12);
  EXPECT_EQ(joined.cpu_places(5).core(), 4u);
}

TEST(ProfileJoin, HostileNumbersDoNoHarm) {
  v1::Profile hostile = RandomProfile(4).Make();
  hostile.mutable_samples()->clear_cpu();
  for (int i = 0; i < hostile.samples().weight_ns_size(); ++i)
    hostile.mutable_samples()->add_cpu(0xffff'ffffu);
  hostile.mutable_samples()->set_time_ns(199, ~0ull);
  hostile.mutable_samples()->set_time_ns(0, 0);
  hostile.mutable_switches()->set_in_ns(29, ~0ull);
  hostile.set_end_ns(~0ull);
  ASSERT_TRUE(CheckProfile(hostile));
  const v1::Profile good = RandomProfile(5).Make();
  ProfileJoin join;
  ASSERT_TRUE(join.Add(good, {"a", good.start_unix_ns()}));
  ASSERT_TRUE(join.Add(hostile, {"b", ~0ull}));
  ASSERT_TRUE(join.Add(hostile, {"c", good.start_unix_ns() - 1'000'000}));
  const v1::Profile joined = join.Finish();
  const auto sound = CheckProfile(joined);
  EXPECT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(NoteIn(joined, "join_cpus")->count(), 2u);
}

TEST(ProfileJoin, ProfileThatDoesNotFitIsRefusedWhole) {
  v1::Profile part = RandomProfile(6).Make();
  ProfileJoin join({.rows = 500, .nodes = 1000});
  ASSERT_TRUE(join.Add(part, {"a", part.start_unix_ns()}));
  ASSERT_TRUE(join.Add(part, {"b", part.start_unix_ns()}));
  const auto refused = join.Add(part, {"c", part.start_unix_ns()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(join.hosts(), 2u);
  const v1::Profile joined = join.Finish();
  EXPECT_TRUE(CheckProfile(joined));
  EXPECT_EQ(joined.samples().weight_ns_size(), 400);
}

TEST(ProfileJoin, WeightsThatAddUpToTooMuchAreRefused) {
  v1::Profile part = testing::SmallProfile();
  part.mutable_samples()->set_weight_ns(0, std::uint64_t{1} << 62);
  ProfileJoin join;
  ASSERT_TRUE(join.Add(part, {"a", part.start_unix_ns()}));
  ASSERT_FALSE(join.Add(part, {"b", part.start_unix_ns()}));
  EXPECT_TRUE(CheckProfile(join.Finish()));
}

TEST(ProfileJoin, NoneIsEmpty) {
  ProfileJoin join;
  EXPECT_EQ(join.hosts(), 0u);
  EXPECT_EQ(join.Finish().ByteSizeLong(), 0u);
}

}  // namespace
}  // namespace profd::client
