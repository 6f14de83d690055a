#include "client/profile/operators/region_leaders.h"

#include <algorithm>

#include "client/profile/profile_facts.h"

namespace profd::client {
namespace {

// A sample further away than this says nothing about an instant: the gap between two is drawn
// around the period, and a period may have been raised.
std::uint64_t LongestGapNs(const v1::Profile& profile) {
  std::uint64_t period_ns = profile.on_cpu_period_ns();
  for (const v1::PeriodChange& change : profile.periods())
    period_ns = std::max(period_ns, change.on_cpu_period_ns());
  return 2 * period_ns;
}

}  // namespace

RegionLeaders::RegionLeaders(const v1::Profile& profile, const Operators& operators)
    : profile_(profile),
      operators_(operators),
      gap_ns_(LongestGapNs(profile)),
      is_leader_(static_cast<std::size_t>(profile.threads_size())) {
  if (!HasSampleTimes(profile)) return;
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.node_size(); ++i)
    if (operators.IsInRegion(samples.node(i))) is_leader_[samples.thread(i)] = true;
  for (int i = 0; i < samples.node_size(); ++i)
    if (is_leader_[samples.thread(i)]) Of(i).samples.push_back(i);
}

RegionLeaders::Answer RegionLeaders::At(int sample) const {
  Answer answer;
  const auto found = by_process_.find(ProcessOf(sample));
  if (found == by_process_.end() || found->second.size() > kMaxLeaders) return answer;
  const std::uint32_t thread = profile_.samples().thread(sample);
  std::size_t others = 0;
  std::size_t known = 0;
  for (const Leader& leader : found->second) {
    if (leader.thread == thread) continue;
    ++others;
    const int nearest = Nearest(leader, profile_.samples().time_ns(sample));
    if (nearest < 0) continue;
    ++known;
    if (IsInside(nearest)) answer.inside.push_back(nearest);
  }
  answer.complete = others != 0 && known == others;
  return answer;
}

std::uint32_t RegionLeaders::ProcessOf(int sample) const {
  return profile_.threads(static_cast<int>(profile_.samples().thread(sample))).process();
}

bool RegionLeaders::IsInside(int sample) const {
  const std::uint32_t node = profile_.samples().node(sample);
  return is_leader_[profile_.samples().thread(sample)] &&
         (operators_.IsInRegion(node) || operators_.IsInPool(node));
}

RegionLeaders::Leader& RegionLeaders::Of(int sample) {
  const std::uint32_t thread = profile_.samples().thread(sample);
  std::vector<Leader>& leaders = by_process_[ProcessOf(sample)];
  const auto known = std::ranges::find(leaders, thread, &Leader::thread);
  return known != leaders.end() ? *known : leaders.emplace_back(Leader{thread, {}});
}

// A sample off the CPU stands for an interval that begins at its time.
std::uint64_t RegionLeaders::LengthNs(int sample) const {
  const v1::Samples& samples = profile_.samples();
  return samples.state(sample) == v1::STATE_ON_CPU ? 0 : samples.raw_weight_ns(sample);
}

// -1: none is near enough.
int RegionLeaders::Nearest(const Leader& leader, std::uint64_t time_ns) const {
  const auto time_of = [this](int sample) { return profile_.samples().time_ns(sample); };
  const auto distance = [&](int sample) {
    const std::uint64_t begin_ns = time_of(sample);
    if (time_ns < begin_ns) return begin_ns - time_ns;
    const std::uint64_t end_ns = begin_ns + LengthNs(sample);
    return time_ns - std::min(time_ns, end_ns);
  };
  const auto after = std::ranges::lower_bound(leader.samples, time_ns, {}, time_of);
  int nearest = -1;
  for (const auto at : {after, after == leader.samples.begin() ? after : after - 1}) {
    if (at == leader.samples.end() || distance(*at) > gap_ns_) continue;
    if (nearest < 0 || distance(*at) < distance(nearest)) nearest = *at;
  }
  return nearest;
}

}  // namespace profd::client
