#include "daemon/store/codec/label_text.h"

#include <nlohmann/json.hpp>

namespace profd::store {

std::string LabelText(const std::map<std::string, std::string>& labels) {
  if (labels.empty()) return {};
  return nlohmann::json(labels).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::map<std::string, std::string> LabelsFromText(std::string_view text) {
  std::map<std::string, std::string> labels;
  if (text.empty()) return labels;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return labels;
  for (const auto& [name, value] : json.items())
    if (value.is_string()) labels.emplace(name, value.get_ref<const std::string&>());
  return labels;
}

}  // namespace profd::store
