// LabelText: labels of a process as the store keeps them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace profd::store {

// An object of JSON, names ascending; "": there are none.
[[nodiscard]] std::string LabelText(const std::map<std::string, std::string>& labels);
// None for bytes that LabelText has not made.
[[nodiscard]] std::map<std::string, std::string> LabelsFromText(std::string_view text);

}  // namespace profd::store
