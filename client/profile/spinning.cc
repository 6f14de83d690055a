#include "client/profile/spinning.h"

#include <algorithm>
#include <functional>

#include "client/profile/stack_names.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr double kShownShare = 0.005;

std::string TextOf(const v1::Rule& rule) {
  std::string text(ClassName(rule.frame_class()));
  const char* joint = ": ";
  const auto add = [&](std::string_view what, const std::string& pattern) {
    text += joint + std::string(what) + " '" + (pattern.empty() ? "" : SafeName(pattern)) + "'";
    joint = ", ";
  };
  if (rule.has_function()) add("function", rule.function());
  if (rule.has_module()) add("module", rule.module());
  if (rule.has_file()) add("file", rule.file());
  if (rule.leaf()) text += ", leaf";
  return text + " (" + SafeName(rule.place()) + ")";
}

}  // namespace

const v1::Rule* RuleOf(const v1::Profile& profile, int sample) {
  if (profile.samples().rule_size() == 0 || profile.samples().rule(sample) == 0) return nullptr;
  return &profile.rules(static_cast<int>(profile.samples().rule(sample)) - 1);
}

bool IsSpinning(const v1::Profile& profile, int sample) {
  if (profile.samples().state(sample) != v1::STATE_ON_CPU) return false;
  const v1::Rule* rule = RuleOf(profile, sample);
  return rule != nullptr && IsSpinning(rule->frame_class());
}

bool IsSpinning(v1::FrameClass frame_class) {
  return frame_class == v1::CLASS_SPIN || frame_class == v1::CLASS_GPU_WAIT;
}

bool IsWorking(const v1::Profile& profile, int sample) {
  return profile.samples().state(sample) == v1::STATE_ON_CPU && !IsSpinning(profile, sample);
}

std::string_view ClassName(v1::FrameClass frame_class) {
  switch (frame_class) {
    case v1::CLASS_SPIN:
      return "spin";
    case v1::CLASS_GPU_WAIT:
      return "gpu-wait";
    case v1::CLASS_RUNTIME:
      return "runtime";
    case v1::CLASS_COPY:
      return "copy";
    case v1::CLASS_WORK:
      return "work";
    default:
      return "";
  }
}

void SpinningTime::operator+=(const SpinningTime& other) {
  ns += other.ns;
  points += other.points;
}

std::vector<SpinningTime> SpinningOfThreads(const v1::Profile& profile) {
  std::vector<SpinningTime> times(static_cast<std::size_t>(profile.threads_size()));
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.rule_size(); ++i)
    if (IsSpinning(profile, i))
      times[samples.thread(i)] += {samples.weight_ns(i), samples.count(i)};
  return times;
}

bool IsShown(const SpinningTime& spinning, std::uint64_t whole_ns) {
  return ShareOf(spinning.ns, whole_ns) > kShownShare;
}

std::uint64_t WorkingNs(std::uint64_t running_ns, const SpinningTime& spinning) {
  return running_ns - std::min(running_ns, spinning.ns);
}

std::string FormatSpinning(const SpinningTime& spinning, std::uint64_t whole_ns) {
  return FormatSampledShare(ShareOf(spinning.ns, whole_ns),
                            spinning.ns != 0 && spinning.points < kFewSamples);
}

std::vector<RuleTime> RuleTimes(const v1::Profile& profile) {
  std::vector<RuleTime> times;
  for (const v1::Rule& rule : profile.rules()) times.push_back({0, TextOf(rule)});
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.rule_size(); ++i)
    if (samples.rule(i) != 0) times[samples.rule(i) - 1].ns += samples.weight_ns(i);
  std::ranges::stable_sort(times, std::greater<>{}, &RuleTime::ns);
  return times;
}

}  // namespace profd::client
