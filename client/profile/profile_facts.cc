#include "client/profile/profile_facts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "client/text/number.h"

namespace profd::client {

Mode ModeOf(const v1::Profile& profile) {
  if (profile.on_cpu() == profile.off_cpu()) return Mode::kWall;
  return profile.on_cpu() ? Mode::kOnCpu : Mode::kOffCpu;
}

std::uint64_t LengthNs(const v1::Profile& profile) {
  return profile.end_ns() > profile.start_ns() ? profile.end_ns() - profile.start_ns() : 0;
}

std::uint64_t LengthNs(const v1::Thread& thread) {
  if (thread.group_size() != 0) return thread.elapsed_ns();
  return thread.end_ns() > thread.begin_ns() ? thread.end_ns() - thread.begin_ns() : 0;
}

std::size_t MembersOf(const v1::Thread& thread) { return std::max(thread.group_size(), 1u); }

std::size_t MembersOf(const v1::Process& process) { return std::max(process.group_size(), 1u); }

std::size_t ThreadCount(const v1::Profile& profile) {
  return std::accumulate(
      profile.threads().begin(), profile.threads().end(), std::size_t{0},
      [](std::size_t sum, const v1::Thread& thread) { return sum + MembersOf(thread); });
}

std::size_t ProcessCount(const v1::Profile& profile) {
  return std::accumulate(
      profile.processes().begin(), profile.processes().end(), std::size_t{0},
      [](std::size_t sum, const v1::Process& process) { return sum + MembersOf(process); });
}

std::uint64_t SampleCount(const v1::Profile& profile) {
  const auto& counts = profile.samples().count();
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t SumOf(const google::protobuf::RepeatedPtrField<v1::NamedCount>& counts) {
  std::uint64_t sum = 0;
  for (const v1::NamedCount& count : counts) sum += count.count();
  return sum;
}

std::string ClosureText(const v1::Profile& profile) {
  constexpr double kMost = 1e6;  // a file may claim anything
  double worst = 0;
  for (const v1::Thread& thread : profile.threads())
    if (!thread.clock_missing() && std::isfinite(thread.closure_error()))
      worst = std::max(worst, std::abs(thread.closure_error()));
  return "closure " + FormatDecimals(100 * std::min(worst, kMost), 2) + " %";
}

bool HasSampleTimes(const v1::Profile& profile) {
  if (profile.samples().edges_size() != 0) return true;  // a session: see profile.proto
  return std::ranges::none_of(profile.samples().count(),
                              [](std::uint32_t count) { return count > 1; });
}

v1::Gil GilOf(const v1::Samples& samples, int index) {
  if (samples.gil_size() == 0) return v1::GIL_NONE;
  const v1::Gil gil = samples.gil(index);
  return v1::Gil_IsValid(gil) ? gil : v1::GIL_UNKNOWN;
}

StackFacts StackFactsOf(const v1::Profile& profile) {
  StackFacts facts;
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.node_size(); ++i) {
    if (samples.node(i) == 0 || (samples.stack_flags(i) & kStackHasNoUserPart) != 0) continue;
    facts.stacks += samples.count(i);
    if ((samples.stack_flags(i) & kStackByFramePointer) != 0)
      facts.by_frame_pointer += samples.count(i);
  }
  return facts;
}

std::string FramePointerText(const StackFacts& facts) {
  return FormatCount(facts.by_frame_pointer) + " of " + FormatCount(facts.stacks) +
         " stacks go on by frame pointer";
}

}  // namespace profd::client
