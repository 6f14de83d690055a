// Timeline: the samples of a profile as intervals of its threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// A part of a track that a sample stands for.
struct TimelineSlice {
  std::uint64_t begin_ns = 0;
  std::uint64_t length_ns = 0;  // at least 1
  int sample = 0;               // of the profile

  [[nodiscard]] std::uint64_t end_ns() const { return begin_ns + length_ns; }
};

// A thread, or one of several that a group of short-lived threads takes: which of them a sample is
// of is not known.
struct TimelineTrack {
  std::uint32_t thread = 0;  // index into Profile.threads
  std::uint32_t lane = 0;    // from 0, of `lanes`
  std::uint32_t lanes = 1;
  std::vector<TimelineSlice> slices;  // in order of time; none overlaps another
};

// Each sample is as long as its weight, so that all that is drawn of a thread in a state adds up to
// its time in the profile. Between samples it is not known what a thread did: of all ways to place
// intervals of these lengths, in the order of their samples and within the life of the thread, the
// one is taken in which they are nearest to where their samples were: on a CPU around the instant
// of the sample, else from the begin of the wait on. In a wall profile the intervals fill the life
// of the thread. Time of which there is no sample fills what is left over.
struct Timeline {
  std::vector<TimelineTrack> tracks;  // by thread and lane; only those with slices
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  // False: they are not known (HasSampleTimes). What a thread did stands by state then, the longest
  // first, from the begin on: sums, not a course of events.
  bool has_times = false;
  std::uint64_t most_shift_ns = 0;  // the farthest that an interval is from where its sample was

  // What a viewer's user has to know of the times.
  [[nodiscard]] std::string TimesText() const;

  // The profile has passed CheckProfile. Deterministic.
  [[nodiscard]] static Timeline Of(const v1::Profile& profile);
};

}  // namespace profd::client
