#include "daemon/fleet/spool/json_values.h"

#include <nlohmann/json.hpp>

namespace profd::fleet {

std::uint64_t NumberIn(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string TextIn(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Gaps GapsIn(const nlohmann::json& object, const char* key) {
  Gaps gaps;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return gaps;
  for (const auto& [cause, ns] : found->items())
    if (ns.is_number_unsigned()) gaps[cause] = ns.get<std::uint64_t>();
  return gaps;
}

}  // namespace profd::fleet
