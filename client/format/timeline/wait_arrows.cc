#include "client/format/timeline/wait_arrows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "client/profile/on_whom.h"

namespace profd::client {
namespace {

const v1::Thread& ThreadOf(const v1::Profile& profile, const TimelineTrack& track) {
  return profile.threads(static_cast<int>(track.thread));
}

// Tracks of threads that are alone in theirs, by tid and start.
std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> SingleTracks(
    const v1::Profile& profile, const Timeline& timeline) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> tracks;
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    const v1::Thread& thread = ThreadOf(profile, timeline.tracks[i]);
    if (thread.group_size() == 0) tracks.try_emplace({thread.tid(), thread.start_ns()}, i);
  }
  return tracks;
}

// Parts of a wait differ in what the thread that ends it did.
bool IsOneWait(const v1::Samples& samples, int a, int b) {
  return samples.state(b) == v1::STATE_BLOCKED && samples.wait(a) == samples.wait(b) &&
         samples.node(a) == samples.node(b);
}

// The thread that ended the wait of a sample; null: not known, or what holds is something else.
const v1::PathThread* WakerOf(const v1::Profile& profile, int i) {
  const v1::Samples& samples = profile.samples();
  if (samples.state(i) != v1::STATE_BLOCKED || samples.path(i) == 0) return nullptr;
  const v1::PathNode& step = *StepsOf(profile, samples.path(i)).front();
  const bool woke =
      step.how() == v1::HOW_WOKE || step.how() == v1::HOW_EXIT || step.how() == v1::HOW_SIGNAL;
  if (step.thread() == 0 || !woke) return nullptr;
  return &profile.path_threads(static_cast<int>(step.thread()) - 1);
}

bool HasSliceAt(const TimelineTrack& track, std::uint64_t time_ns) {
  const auto after = std::ranges::upper_bound(track.slices, time_ns, {}, &TimelineSlice::begin_ns);
  return after != track.slices.begin() && std::prev(after)->end_ns() > time_ns;
}

}  // namespace

std::vector<WaitArrow> WaitArrows(const v1::Profile& profile, const Timeline& timeline) {
  std::vector<WaitArrow> arrows;
  const v1::Samples& samples = profile.samples();
  if (samples.path_size() == 0) return arrows;
  const auto tracks = SingleTracks(profile, timeline);
  for (std::size_t to = 0; to < timeline.tracks.size(); ++to) {
    const TimelineTrack& track = timeline.tracks[to];
    for (std::size_t i = 0; i < track.slices.size(); ++i) {
      const TimelineSlice& slice = track.slices[i];
      if (i + 1 < track.slices.size() &&
          IsOneWait(samples, slice.sample, track.slices[i + 1].sample))
        continue;
      const v1::PathThread* waker = WakerOf(profile, slice.sample);
      if (waker == nullptr) continue;
      const auto from = tracks.find({waker->tid(), waker->start_ns()});
      if (from == tracks.end() || from->second == to) continue;
      const std::uint64_t time_ns = slice.end_ns() - 1;
      if (HasSliceAt(timeline.tracks[from->second], time_ns))
        arrows.push_back({from->second, to, time_ns});
    }
  }
  return arrows;
}

}  // namespace profd::client
