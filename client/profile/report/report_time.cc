#include "client/profile/report/report_time.h"

#include "client/profile/spinning.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::string_view kStolen = "[stolen]";

bool IsStolen(const v1::Profile& profile, int sample) {
  const std::uint32_t node = profile.samples().node(sample);
  if (node == 0) return false;
  const v1::StackNode& leaf = profile.nodes(static_cast<int>(node) - 1);
  if (leaf.parent() != 0) return false;
  const v1::Frame& frame = profile.frames(static_cast<int>(leaf.frame()));
  return frame.kind() == v1::FRAME_PSEUDO && frame.name() == kStolen;
}

}  // namespace

std::string_view PartName(TimePart part) {
  constexpr std::array<std::string_view, kParts> kNames{"working", "spinning", "runnable",
                                                        "blocked", "stolen"};
  return kNames[static_cast<std::size_t>(part)];
}

TimePart PartOf(const v1::Profile& profile, int sample) {
  switch (profile.samples().state(sample)) {
    case v1::STATE_ON_CPU:
      if (IsStolen(profile, sample)) return TimePart::kStolen;
      return IsSpinning(profile, sample) ? TimePart::kSpinning : TimePart::kWorking;
    case v1::STATE_RUNNABLE:
      return TimePart::kRunnable;
    default:
      return TimePart::kBlocked;
  }
}

SampledTime& SampledTime::operator+=(const SampledTime& other) {
  ns += other.ns;
  points += other.points;
  exact_ns += other.exact_ns;
  return *this;
}

SampledTime& SampledTime::operator-=(const SampledTime& part) {
  ns -= part.ns;
  points -= part.points;
  exact_ns -= part.exact_ns;
  return *this;
}

bool SampledTime::rough() const { return points < kFewSamples && exact_ns < ns - ns / 10; }

ReportTime& ReportTime::operator+=(const ReportTime& other) {
  for (std::size_t i = 0; i < kParts; ++i) parts[i] += other.parts[i];
  counts += other.counts;
  return *this;
}

ReportTime& ReportTime::operator-=(const ReportTime& part) {
  for (std::size_t i = 0; i < kParts; ++i) parts[i] -= part.parts[i];
  counts -= part.counts;
  return *this;
}

void ReportTime::Add(const v1::Profile& profile, int sample) {
  const v1::Samples& samples = profile.samples();
  const std::uint64_t ns = samples.weight_ns(sample);
  (*this)[PartOf(profile, sample)] += {ns, samples.count(sample), samples.exact(sample) ? ns : 0};
  counts += CountsAt(samples, sample);
}

SampledTime ReportTime::all() const {
  SampledTime sum;
  for (const SampledTime& part : parts) sum += part;
  return sum;
}

std::uint64_t ReportTime::running_ns() const {
  return (*this)[TimePart::kWorking].ns + (*this)[TimePart::kSpinning].ns +
         (*this)[TimePart::kStolen].ns;
}

ReportTime TimeOf(const v1::Profile& profile) {
  ReportTime sum;
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) sum.Add(profile, i);
  return sum;
}

}  // namespace profd::client
