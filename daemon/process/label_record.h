// LabelRecord: what a thread publishes about its present work, as its record has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::process {

// Format: bpf/shared/labels.h. Values are the bytes of a hostile process.
struct LabelRecord {
  std::string trace_id;  // hex; "": no trace
  std::string span_id;   // hex; "": no trace
  // Number of its name, and value; ascending by number, each once.
  std::vector<std::pair<std::uint8_t, std::string>> attributes;
};

// Of an attribute that occurs several times the last value counts. An attribute that does not fit
// ends the record.
[[nodiscard]] LabelRecord ParseLabelRecord(std::string_view record);

}  // namespace profd::process
