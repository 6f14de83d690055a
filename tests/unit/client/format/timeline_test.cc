#include "client/format/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using ::testing::ElementsAre;
using testing::ProfileMaker;
using testing::Running;

constexpr std::uint64_t kMs = 1'000'000;

// As of a session: the times of its samples are known.
v1::Profile WithTimes(v1::Profile profile) {
  v1::Samples& samples = *profile.mutable_samples();
  samples.clear_edges();
  for (int i = 0; i < samples.weight_ns_size(); ++i) samples.add_edges(0);
  return profile;
}

// Begin and end in ms since the profile's begin, of each slice.
std::vector<std::pair<std::uint64_t, std::uint64_t>> Ms(const v1::Profile& profile,
                                                        const TimelineTrack& track) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
  for (const TimelineSlice& slice : track.slices)
    times.emplace_back((slice.begin_ns - profile.start_ns()) / kMs,
                       (slice.end_ns() - profile.start_ns()) / kMs);
  return times;
}

// Whatever else holds: no overlap, and sums of each thread, state and reason as in the profile.
void ExpectTrue(const v1::Profile& profile) {
  using Key = std::tuple<std::uint32_t, int, int>;
  std::map<Key, std::uint64_t> drawn;
  std::map<Key, std::uint64_t> known;
  const v1::Samples& samples = profile.samples();
  const auto key = [&](int i) { return Key(samples.thread(i), samples.state(i), samples.wait(i)); };
  for (int i = 0; i < samples.weight_ns_size(); ++i)
    if (samples.weight_ns(i) > 0) known[key(i)] += samples.weight_ns(i);
  const Timeline timeline = Timeline::Of(profile);
  for (const TimelineTrack& track : timeline.tracks) {
    EXPECT_FALSE(track.slices.empty());
    EXPECT_LT(track.lane, track.lanes);
    std::uint64_t end_ns = timeline.begin_ns;
    for (const TimelineSlice& slice : track.slices) {
      EXPECT_GE(slice.begin_ns, end_ns);
      EXPECT_GT(slice.length_ns, 0u);
      EXPECT_EQ(samples.thread(slice.sample), track.thread);
      end_ns = slice.end_ns();
      drawn[key(slice.sample)] += slice.length_ns;
    }
    EXPECT_LE(end_ns, timeline.end_ns);
  }
  EXPECT_EQ(drawn, known);
}

TEST(Timeline, SumsAreThoseOfTheProfile) {
  for (const v1::Profile& profile :
       {testing::SmallProfile(), testing::TypicalProfile(), testing::LargeProfile(3000),
        testing::ManyThreadsProfile(20), testing::WaitingProfile(), testing::SpinningProfile(),
        testing::HostileProfile(), testing::EmptyProfile()}) {
    ExpectTrue(profile);
    ExpectTrue(WithTimes(profile));
  }
}

TEST(Timeline, AWallProfileFillsTheLifeOfItsThreads) {
  const v1::Profile profile = WithTimes(testing::SmallProfile());
  const Timeline timeline = Timeline::Of(profile);
  EXPECT_TRUE(timeline.has_times);
  ASSERT_EQ(timeline.tracks.size(), 2u);
  EXPECT_THAT(Ms(profile, timeline.tracks[0]),
              ElementsAre(std::pair(0, 1500), std::pair(1500, 1520), std::pair(1520, 1820),
                          std::pair(1820, 2000)));
  EXPECT_THAT(Ms(profile, timeline.tracks[1]),
              ElementsAre(std::pair(0, 1200), std::pair(1200, 2000)));
}

// One thread of 1 s; samples of 10 ms.
class OneThread {
 public:
  OneThread() : thread_(maker_.AddThread(1, "t")) {}

  void Add(std::uint64_t at_ms, const testing::SampleSpec& spec) {
    maker_.Add(thread_, {"f"}, spec);
    v1::Samples& samples = *maker_.profile().mutable_samples();
    samples.set_time_ns(samples.time_ns_size() - 1, maker_.profile().start_ns() + at_ms * kMs);
  }
  v1::Profile Make(std::uint64_t life_ms = 1000) {
    v1::Profile profile = WithTimes(maker_.Make());
    profile.set_end_ns(profile.start_ns() + life_ms * kMs);
    profile.mutable_threads(0)->set_end_ns(profile.end_ns());
    return profile;
  }
  v1::Thread& thread() { return *maker_.profile().mutable_threads(0); }

 private:
  ProfileMaker maker_;
  std::uint32_t thread_;
};

TEST(Timeline, WhereThereIsRoomSlicesStandAtTheirSamples) {
  OneThread one;
  one.Add(100, Running(10));
  one.Add(300, Blocked(v1::WAIT_IO, 50));
  one.Add(700, Running(20));
  const v1::Profile profile = one.Make();
  ExpectTrue(profile);
  const Timeline timeline = Timeline::Of(profile);
  EXPECT_THAT(Ms(profile, timeline.tracks[0]),
              ElementsAre(std::pair(95, 105), std::pair(300, 350), std::pair(690, 710)));
  EXPECT_EQ(timeline.most_shift_ns, 0u);
}

TEST(Timeline, SlicesThatWouldOverlapGiveWayToBothSides) {
  OneThread one;
  one.Add(500, Running(100));  // 450 to 550
  one.Add(520, Running(100));  // 470 to 570
  const v1::Profile profile = one.Make();
  const Timeline timeline = Timeline::Of(profile);
  EXPECT_THAT(Ms(profile, timeline.tracks[0]),
              ElementsAre(std::pair(410, 510), std::pair(510, 610)));
  EXPECT_EQ(timeline.most_shift_ns, 40 * kMs);
}

TEST(Timeline, NothingStandsOutsideOfTheLife) {
  OneThread one;
  one.Add(0, Running(100));
  one.Add(999, Running(100));
  const v1::Profile profile = one.Make();
  EXPECT_THAT(Ms(profile, Timeline::Of(profile).tracks[0]),
              ElementsAre(std::pair(0, 100), std::pair(900, 1000)));
}

TEST(Timeline, MoreTimeThanLifeGoesOnBehindTheEnd) {
  OneThread one;
  one.Add(0, Running(80));
  one.Add(50, Running(80));
  const v1::Profile profile = one.Make(100);
  ExpectTrue(profile);
  const Timeline timeline = Timeline::Of(profile);
  EXPECT_THAT(Ms(profile, timeline.tracks[0]), ElementsAre(std::pair(0, 80), std::pair(80, 160)));
  EXPECT_EQ(timeline.end_ns, profile.start_ns() + 160 * kMs);
}

TEST(Timeline, TimeWithoutSamplesFillsWhatIsLeftOver) {
  OneThread one;
  one.Add(0, Blocked(v1::WAIT_OTHER, 60, 0));
  one.Add(50, Running(100));
  one.Add(500, Running(100));
  const v1::Profile profile = one.Make(300);
  ExpectTrue(profile);
  EXPECT_THAT(Ms(profile, Timeline::Of(profile).tracks[0]),
              ElementsAre(std::pair(0, 100), std::pair(100, 160), std::pair(200, 300)));
}

TEST(Timeline, AGroupHasAsManyTracksAsItsTimeNeeds) {
  OneThread one;
  one.thread().set_group_size(8);
  for (std::uint64_t at = 0; at < 100; at += 10) one.Add(at, Running(25));
  const v1::Profile profile = one.Make(100);
  ExpectTrue(profile);
  const Timeline timeline = Timeline::Of(profile);
  ASSERT_EQ(timeline.tracks.size(), 3u);  // 250 ms in 100
  for (const TimelineTrack& track : timeline.tracks) EXPECT_EQ(track.lanes, 3u);
}

TEST(Timeline, WithoutTimesItIsSumsByState) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"a"}, Blocked(v1::WAIT_IO, 30, 3));
  maker.Add(thread, {"b"}, Running(10, 1));
  maker.Add(thread, {"c"}, Running(20, 2));
  const v1::Profile profile = maker.Make();
  const Timeline timeline = Timeline::Of(profile);
  EXPECT_FALSE(timeline.has_times);
  std::vector<int> order;
  for (const TimelineSlice& slice : timeline.tracks[0].slices) order.push_back(slice.sample);
  EXPECT_THAT(order, ElementsAre(2, 1, 0));
}

TEST(Timeline, TimesOfADamagedFileDoNoHarm) {
  for (const std::uint64_t time : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    OneThread one;
    one.Add(10, Running(10));
    one.Add(30, Running(10));
    v1::Profile profile = one.Make();
    profile.mutable_samples()->set_time_ns(0, time);
    ExpectTrue(profile);
    profile.mutable_threads(0)->set_begin_ns(time);
    ExpectTrue(profile);
    profile.set_start_ns(time);
    ExpectTrue(profile);
    profile.mutable_threads(0)->set_end_ns(0);
    profile.set_end_ns(0);
    ExpectTrue(profile);
  }
}

}  // namespace
}  // namespace profd::client
