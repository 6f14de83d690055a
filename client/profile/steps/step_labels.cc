#include "client/profile/steps/step_labels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/profile/labels/label_values.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::size_t kLeastBorders = 3;
constexpr std::size_t kMostNames = 8;

// The values of one label: by number of labels.
std::vector<std::optional<std::string_view>> ValuesOf(const v1::Profile& profile,
                                                      std::string_view label) {
  std::vector<std::optional<std::string_view>> values;
  for (int labels = 0; labels <= profile.label_sets_size(); ++labels)
    values.push_back(LabelIn(profile, static_cast<std::uint32_t>(labels), label));
  return values;
}

std::string LabelNames(const v1::Profile& profile) {
  std::set<std::string> names;
  for (const v1::LabelSet& set : profile.label_sets())
    for (const v1::Label& label : set.labels())
      if (names.size() < kMostNames) names.insert("label:" + SafeName(label.name()));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "no thread publishes labels; deploy/labels shows how it does"
                      : "threads publish " + text;
}

}  // namespace

Result<StepLoop> FindLabelSteps(const v1::Profile& profile, std::string_view label) {
  PROFD_TRY(CheckHasSteps(profile));
  const auto values = ValuesOf(profile, label);
  const v1::Samples& samples = profile.samples();
  std::vector<std::size_t> with_label(static_cast<std::size_t>(profile.threads_size()));
  for (int i = 0; i < samples.node_size(); ++i)
    if (samples.count(i) != 0 && values[LabelsOf(profile, i)]) ++with_label[samples.thread(i)];
  StepLoop loop;
  loop.said_by = "label:" + std::string(label);
  const auto most = std::ranges::max_element(with_label);
  loop.thread = static_cast<std::uint32_t>(most - with_label.begin());
  std::optional<std::string_view> last;
  std::optional<std::uint64_t> last_ns;  // of the sample before
  for (int i = 0; i < samples.node_size(); ++i) {
    if (samples.thread(i) != loop.thread || samples.count(i) == 0) continue;
    const auto value = values[LabelsOf(profile, i)];
    const std::uint64_t begin_ns = samples.time_ns(i);
    if (value && value != last) {
      // The first sample of all may lie in the middle of a step.
      if (last_ns) {
        const std::uint64_t gap_ns = begin_ns - std::min(begin_ns, *last_ns);
        loop.borders.push_back({begin_ns - gap_ns / 2, gap_ns - gap_ns / 2});
      }
      last = value;
    }
    last_ns = std::max(last_ns.value_or(0), LastPointNs(profile, i));
  }
  if (loop.borders.size() < kLeastBorders)
    return Error{ErrorCode::kNotFound,
                 "label:" + SafeName(label) + " has not changed three times in a thread",
                 LabelNames(profile)};
  CountSamples(profile, loop);
  return loop;
}

}  // namespace profd::client
