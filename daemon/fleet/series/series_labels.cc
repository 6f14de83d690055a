#include "daemon/fleet/series/series_labels.h"

#include <algorithm>
#include <array>
#include <utility>

namespace profd::fleet {
namespace {

constexpr std::array<std::string_view, 7> kOfServices{
    "service.name",           "service.namespace",
    "service.version",        "deployment.environment.name",
    "deployment.environment", "k8s.namespace.name",
    "k8s.container.name"};
constexpr std::size_t kNameBytes = 256;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_';
}

// Not in the middle of a character: `text` is valid UTF-8.
std::string Cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::string SeriesLabelName(std::string_view name) {
  std::string made;
  for (const char c : name.substr(0, kNameBytes)) made += IsNamePart(c) ? c : '_';
  if (made.empty() || IsDigit(made[0]) || made.starts_with("__")) made.insert(0, "label_");
  return made;
}

Labels MakeSeriesLabels(const Labels& labels, const SeriesLimits& limits) {
  std::vector<std::pair<std::string, std::string>> ordered;
  const auto is_of_service = [](const auto& label) {
    return std::ranges::find(kOfServices, label.first) != kOfServices.end();
  };
  std::ranges::copy_if(labels, std::back_inserter(ordered), is_of_service);
  std::ranges::copy_if(labels, std::back_inserter(ordered),
                       [&](const auto& label) { return !is_of_service(label); });
  Labels made;
  for (const auto& [name, value] : ordered) {
    if (made.size() >= limits.labels) break;
    std::string series_name = SeriesLabelName(name);
    while (made.contains(series_name)) series_name += '_';
    std::string text = Cut(value, limits.value_bytes);
    if (!text.empty()) made.emplace(std::move(series_name), std::move(text));
  }
  return made;
}

SeriesChoice::SeriesChoice(const std::vector<RelabelRule>& rules)
    : names_(kOfServices.begin(), kOfServices.end()) {
  for (const RelabelRule& rule : rules) {
    all_ = all_ || rule.action == RelabelAction::kLabelKeep;
    if (rule.action == RelabelAction::kReplace) names_.push_back(rule.target_label);
  }
}

Labels SeriesChoice::Of(const Labels& labels) const {
  if (all_) return labels;
  Labels chosen;
  for (const auto& label : labels)
    if (std::ranges::find(names_, label.first) != names_.end()) chosen.insert(label);
  return chosen;
}

}  // namespace profd::fleet
