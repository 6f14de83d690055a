#include "client/profile/labels/label_values.h"

#include <algorithm>

#include "client/text/text.h"

namespace profd::client {

std::uint32_t LabelsOf(const v1::Profile& profile, int sample) {
  const v1::Samples& samples = profile.samples();
  return samples.labels_size() == 0 ? 0 : samples.labels(sample);
}

std::optional<std::string_view> LabelIn(const v1::Profile& profile, std::uint32_t labels,
                                        std::string_view name) {
  if (labels == 0) return std::nullopt;
  const auto& set = profile.label_sets(static_cast<int>(labels) - 1).labels();
  const auto found = std::ranges::find(set, name, &v1::Label::name);
  if (found == set.end()) return std::nullopt;
  return found->value();
}

std::optional<std::string_view> LabelIn(const v1::Process& process, std::string_view name) {
  const auto found = process.labels().find(std::string(name));
  if (found == process.labels().end()) return std::nullopt;
  return found->second;
}

std::string LabelsText(const v1::Profile& profile, std::uint32_t labels) {
  std::string text;
  if (labels == 0) return text;
  for (const v1::Label& label : profile.label_sets(static_cast<int>(labels) - 1).labels())
    text += (text.empty() ? "" : ", ") + SafeText(label.name()) + "=" + SafeText(label.value());
  return text;
}

std::string_view LabelNamedBy(std::string_view text) {
  constexpr std::string_view kPrefix = "label:";
  if (!text.starts_with(kPrefix)) return "";
  return text.substr(kPrefix.size());
}

}  // namespace profd::client
