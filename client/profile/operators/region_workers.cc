#include "client/profile/operators/region_workers.h"

#include <algorithm>
#include <map>

#include "client/profile/spinning.h"

namespace profd::client {
namespace {

// Samples of one thread that is ever in a region, in order of time.
struct Master {
  std::uint32_t thread = 0;
  std::vector<int> samples;
};

// A sample further away than this says nothing about an instant: the gap between two is drawn
// around the period, and a period may have been raised.
std::uint64_t LongestGapNs(const v1::Profile& profile) {
  std::uint64_t period_ns = profile.on_cpu_period_ns();
  for (const v1::PeriodChange& change : profile.periods())
    period_ns = std::max(period_ns, change.on_cpu_period_ns());
  return 2 * period_ns;
}

class Masters {
 public:
  Masters(const v1::Profile& profile, const Operators& operators)
      : profile_(profile), operators_(operators), gap_ns_(LongestGapNs(profile)) {
    const v1::Samples& samples = profile.samples();
    std::vector<bool> is_master(static_cast<std::size_t>(profile.threads_size()));
    for (int i = 0; i < samples.node_size(); ++i)
      if (Leads(i)) is_master[samples.thread(i)] = true;
    for (int i = 0; i < samples.node_size(); ++i)
      if (is_master[samples.thread(i)]) Of(samples.thread(i)).samples.push_back(i);
  }

  // The only thread of the process that is in a region at the time of a sample; -1: none.
  [[nodiscard]] int At(int worker) const {
    const std::uint32_t thread = profile_.samples().thread(worker);
    const auto found = by_process_.find(ProcessOf(thread));
    if (found == by_process_.end() || found->second.size() > RegionWorkers::kMaxMasters) return -1;
    int leads = -1;
    for (const Master& master : found->second) {
      if (master.thread == thread) continue;
      const int nearest = Nearest(master, profile_.samples().time_ns(worker));
      if (nearest < 0 || !Leads(nearest)) continue;
      if (leads >= 0) return -1;
      leads = nearest;
    }
    return leads;
  }

 private:
  [[nodiscard]] std::uint32_t ProcessOf(std::uint32_t thread) const {
    return profile_.threads(static_cast<int>(thread)).process();
  }
  [[nodiscard]] bool Leads(int sample) const {
    return operators_.IsInRegion(profile_.samples().node(sample));
  }
  Master& Of(std::uint32_t thread) {
    std::vector<Master>& masters = by_process_[ProcessOf(thread)];
    const auto known = std::ranges::find(masters, thread, &Master::thread);
    return known != masters.end() ? *known : masters.emplace_back(Master{thread, {}});
  }
  // A sample off the CPU stands for an interval that begins at its time.
  [[nodiscard]] std::uint64_t LengthNs(int sample) const {
    const v1::Samples& samples = profile_.samples();
    return samples.state(sample) == v1::STATE_ON_CPU ? 0 : samples.raw_weight_ns(sample);
  }
  [[nodiscard]] int Nearest(const Master& master, std::uint64_t time_ns) const {
    const auto time_of = [this](int sample) { return profile_.samples().time_ns(sample); };
    const auto distance = [&](int sample) {
      const std::uint64_t begin_ns = time_of(sample);
      if (time_ns < begin_ns) return begin_ns - time_ns;
      const std::uint64_t end_ns = begin_ns + LengthNs(sample);
      return time_ns - std::min(time_ns, end_ns);
    };
    const auto after = std::ranges::lower_bound(master.samples, time_ns, {}, time_of);
    int nearest = -1;
    for (const auto at : {after, after == master.samples.begin() ? after : after - 1}) {
      if (at == master.samples.end() || distance(*at) > gap_ns_) continue;
      if (nearest < 0 || distance(*at) < distance(nearest)) nearest = *at;
    }
    return nearest;
  }

  const v1::Profile& profile_;
  const Operators& operators_;
  const std::uint64_t gap_ns_;
  std::map<std::uint32_t, std::vector<Master>> by_process_;
};

}  // namespace

RegionWorkers::RegionWorkers(const v1::Profile& profile, const Operators& operators) {
  const v1::Samples& samples = profile.samples();
  master_of_.assign(static_cast<std::size_t>(samples.node_size()), -1);
  if (operators.empty()) return;
  const Masters masters(profile, operators);
  for (int i = 0; i < samples.node_size(); ++i) {
    const auto op = operators.OperatorOf(i);
    if (!op || !operators.IsWorker(*op) || !IsWorking(profile, i)) continue;
    const int master = masters.At(i);
    master_of_[static_cast<std::size_t>(i)] = master;
    any_ = any_ || master >= 0;
  }
}

}  // namespace profd::client
