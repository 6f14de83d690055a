#include "daemon/server/grpc/convert/stolen_samples.h"

#include <algorithm>

namespace profd::server {
namespace {

// By thread: not known of one whose samples have a relation to a GIL.
std::vector<process::Gil> GilOfStolen(const aggregate::Profile& profile) {
  std::vector<process::Gil> gil(profile.threads.size(), process::Gil::kNone);
  for (const auto& sample : profile.samples)
    if (sample.gil != process::Gil::kNone) gil[sample.thread] = process::Gil::kUnknown;
  return gil;
}

}  // namespace

std::vector<aggregate::ProfileSample> StolenSamples(const aggregate::Profile& profile,
                                                    std::uint32_t node) {
  std::vector<aggregate::ProfileSample> samples;
  if (!profile.on_cpu) return samples;
  const auto gil = GilOfStolen(profile);
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    const aggregate::ProfileThread& thread = profile.threads[i];
    const std::uint64_t ns = aggregate::StolenClock(thread.clock);
    if (ns == 0) continue;
    aggregate::ProfileSample sample;
    sample.time_ns = thread.begin_ns;
    sample.weight_ns = ns;
    sample.thread = static_cast<std::uint32_t>(i);
    sample.node = node;
    sample.count = 0;
    sample.gil = gil[i];
    sample.exact = thread.clock.stolen_ns[PROFD_STOLEN_SPREAD] == 0;
    if (sample.exact) sample.raw_weight_ns = ns;
    samples.push_back(sample);
  }
  std::ranges::stable_sort(samples, {}, &aggregate::ProfileSample::time_ns);
  return samples;
}

}  // namespace profd::server
