#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "client/format/timeline/perfetto.pb.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using testing::ProfileMaker;

const Exporter kPerfetto = **ExporterByName("perfetto");

v1::Profile WithTimes(v1::Profile profile) {
  profile.mutable_samples()->clear_edges();
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
    profile.mutable_samples()->add_edges(0);
  return profile;
}

struct Slice {
  std::string name;
  std::uint64_t ns = 0;
};

// What a reader of the format makes of a file.
struct Read {
  std::map<std::uint64_t, perfetto::TrackDescriptor> tracks;
  std::map<std::uint64_t, std::vector<Slice>> slices;       // by track
  std::map<std::uint64_t, std::vector<std::string>> flows;  // "track name ts" of both ends
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, double>>> counters;
  std::vector<perfetto::TracePacket> samples;
  perfetto::InternedData interned;

  // "worker (4243) > states"
  [[nodiscard]] std::string NameOf(std::uint64_t uuid) const {
    const perfetto::TrackDescriptor& track = tracks.at(uuid);
    if (track.has_process()) return track.process().process_name();
    if (track.has_thread()) return track.thread().thread_name();
    return NameOf(track.parent_uuid()) + " > " + track.name();
  }
  [[nodiscard]] std::map<std::string, std::uint64_t> Sums(const std::string& track) const {
    std::map<std::string, std::uint64_t> sums;
    for (const auto& [uuid, of] : slices)
      if (NameOf(uuid) == track)
        for (const Slice& slice : of) sums[slice.name] += slice.ns;
    return sums;
  }
};

Read Parsed(const v1::Profile& profile) {
  perfetto::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(Written(kPerfetto, profile)));
  Read read;
  std::map<std::uint64_t, std::string> names;
  struct Open {
    std::size_t slice = 0;
    std::uint64_t begin_ns = 0;
  };
  std::map<std::uint64_t, std::vector<Open>> open;
  std::map<std::uint64_t, std::uint64_t> last_ns;  // by track: events are in order
  EXPECT_GT(trace.packet_size(), 0);
  EXPECT_EQ(trace.packet(0).sequence_flags(), 1u);
  for (const perfetto::TracePacket& packet : trace.packet()) {
    EXPECT_EQ(packet.trusted_packet_sequence_id(), 1u);
    if (packet.has_interned_data()) {
      read.interned = packet.interned_data();
      for (const auto& name : read.interned.event_names()) names[name.iid()] = name.name();
    }
    if (packet.has_track_descriptor()) {
      const auto& track = packet.track_descriptor();
      EXPECT_TRUE(read.tracks.emplace(track.uuid(), track).second);
      if (track.parent_uuid() != 0) {
        EXPECT_TRUE(read.tracks.contains(track.parent_uuid()));
      }
    }
    if (packet.has_perf_sample()) read.samples.push_back(packet);
    if (!packet.has_track_event()) continue;
    const auto& event = packet.track_event();
    const std::uint64_t track = event.track_uuid();
    EXPECT_TRUE(read.tracks.contains(track));
    if (event.type() == perfetto::TrackEvent::TYPE_SLICE_BEGIN) {
      EXPECT_TRUE(names.contains(event.name_iid()));
      EXPECT_GE(packet.timestamp(), last_ns[track]);
      last_ns[track] = packet.timestamp();
      open[track].push_back({read.slices[track].size(), packet.timestamp()});
      read.slices[track].push_back({names[event.name_iid()], 0});
    } else if (event.type() == perfetto::TrackEvent::TYPE_SLICE_END) {
      EXPECT_FALSE(open[track].empty());
      EXPECT_GE(packet.timestamp(), last_ns[track]);
      last_ns[track] = packet.timestamp();
      read.slices[track][open[track].back().slice].ns =
          packet.timestamp() - open[track].back().begin_ns;
      open[track].pop_back();
    } else if (event.type() == perfetto::TrackEvent::TYPE_COUNTER) {
      read.counters[track].emplace_back(packet.timestamp(), event.double_counter_value());
    } else {
      for (const auto* ids : {&event.flow_ids(), &event.terminating_flow_ids()})
        for (const std::uint64_t id : *ids)
          read.flows[id].push_back(read.NameOf(track) + " " + event.name());
    }
  }
  for (const auto& [track, of] : open) EXPECT_TRUE(of.empty());
  return read;
}

TEST(Perfetto, MatchesItsGolden) {
  perfetto::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(Written(kPerfetto, WithTimes(testing::SmallProfile()))));
  ExpectGolden(trace.DebugString(), "small.perfetto.txt");
}

TEST(Perfetto, StatesAddUpToTheClocks) {
  const Read read = Parsed(WithTimes(testing::SmallProfile()));
  EXPECT_EQ(
      read.Sums("demo (4242) > states"),
      (std::map<std::string, std::uint64_t>{
          {"working", 1'680'000'000}, {"runnable", 20'000'000}, {"blocked:lock", 300'000'000}}));
  EXPECT_EQ(read.Sums("worker (4243) > states"),
            (std::map<std::string, std::uint64_t>{{"blocked:sleep", 1'200'000'000},
                                                  {"blocked:io", 800'000'000}}));
  const auto stacks = read.Sums("demo (4242)");
  EXPECT_EQ(stacks.at("compute"), 1'700'000'000u);
  EXPECT_EQ(stacks.at("[blocked:lock]"), 300'000'000u);
}

TEST(Perfetto, SamplesOnACpuHaveTheirOwnInstantAndStack) {
  const v1::Profile profile = WithTimes(testing::SmallProfile());
  const Read read = Parsed(profile);
  ASSERT_EQ(read.samples.size(), 2u);
  const perfetto::TracePacket& first = read.samples[0];
  EXPECT_EQ(first.timestamp(), profile.start_ns());
  EXPECT_EQ(first.perf_sample().pid(), 4242u);
  EXPECT_EQ(first.perf_sample().tid(), 4242u);
  std::vector<std::string> names;
  for (const auto& stack : read.interned.callstacks()) {
    if (stack.iid() != first.perf_sample().callstack_iid()) continue;
    for (const std::uint64_t id : stack.frame_ids()) {
      const auto& frame = read.interned.frames(static_cast<int>(id) - 1);
      EXPECT_EQ(frame.iid(), id);
      names.push_back(
          read.interned.function_names(static_cast<int>(frame.function_name_id()) - 1).str());
      EXPECT_EQ(read.interned.mapping_paths(static_cast<int>(frame.mapping_id()) - 1).str(),
                "/usr/bin/demo");
    }
  }
  EXPECT_THAT(names, ElementsAre("_start", "main", "compute"));
  EXPECT_TRUE(Parsed(testing::SmallProfile()).samples.empty()) << "their times are not known";
}

TEST(Perfetto, FlowsHaveBothEnds) {
  ProfileMaker maker;
  const auto waiter = maker.AddThread(1, "waiter");
  const auto worker = maker.AddThread(2, "worker");
  const auto path = maker.AddPath({{.thread = maker.AddPathThread(2, "worker")}});
  maker.Add(waiter, {"f"}, testing::Blocked(v1::WAIT_LOCK, 100, 1, path));
  maker.Add(waiter, {"f"}, testing::Running(100));
  maker.Add(worker, {"run"}, testing::Running(400));
  const Read read = Parsed(WithTimes(maker.Make()));
  ASSERT_EQ(read.flows.size(), 1u);
  EXPECT_THAT(read.flows.at(1),
              ElementsAre("worker (2) > states ends a wait", "waiter (1) > states wait ends"));
}

TEST(Perfetto, TheCounterIsOfEachProcess) {
  const Read read = Parsed(WithTimes(testing::PoolProfile()));
  std::set<std::string> names;
  for (const auto& [track, values] : read.counters) {
    names.insert(read.NameOf(track));
    EXPECT_EQ(values.back().second, 0);
  }
  EXPECT_EQ(names, (std::set<std::string>{"demo > threads on CPUs", "other > threads on CPUs"}));
}

TEST(Perfetto, LargeHostileOrEmptyProfilesAreSound) {
  for (const v1::Profile& profile :
       {testing::LargeProfile(3000), testing::ManyThreadsProfile(30), testing::HostileProfile(),
        testing::EmptyProfile(), testing::TypicalProfile(), testing::OperatorProfile()}) {
    Parsed(profile);
    const Read read = Parsed(WithTimes(profile));
    std::uint64_t all = 0;
    for (const std::uint64_t weight : profile.samples().weight_ns()) all += weight;
    std::uint64_t drawn = 0;
    for (const auto& [track, slices] : read.slices)
      if (read.NameOf(track).ends_with(" > states"))
        for (const Slice& slice : slices) drawn += slice.ns;
    EXPECT_EQ(drawn, all);
  }
}

}  // namespace
}  // namespace profd::client
