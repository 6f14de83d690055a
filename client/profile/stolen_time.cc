#include "client/profile/stolen_time.h"

#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr double kShownShare = 0.005;

}  // namespace

void StolenTime::operator+=(const StolenTime& other) {
  ns += other.ns;
  spread_ns += other.spread_ns;
}

StolenTime StolenOf(const v1::ThreadClock& clock) {
  return {clock.stolen_exact_ns() + clock.stolen_spread_ns(), clock.stolen_spread_ns()};
}

bool IsShown(const StolenTime& stolen, std::uint64_t whole_ns) {
  return ShareOf(stolen.ns, whole_ns) > kShownShare;
}

std::uint64_t RunningNs(std::uint64_t on_cpu_ns, const StolenTime& stolen, std::uint64_t whole_ns) {
  return IsShown(stolen, whole_ns) ? on_cpu_ns : on_cpu_ns + stolen.ns;
}

std::string FormatStolen(const StolenTime& stolen, std::uint64_t whole_ns) {
  if (!IsShown(stolen, whole_ns)) return {};
  return FormatSampledShare(ShareOf(stolen.ns, whole_ns), stolen.spread_ns != 0);
}

}  // namespace profd::client
