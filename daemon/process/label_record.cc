#include "daemon/process/label_record.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "bpf/shared/labels.h"

namespace profd::process {
namespace {

// "" where all bytes are 0.
std::string Hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; })) return "";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

LabelRecord ParseLabelRecord(std::string_view record) {
  profd_label_head head{};
  LabelRecord parsed;
  if (record.size() < sizeof head) return parsed;
  std::memcpy(&head, record.data(), sizeof head);
  parsed.trace_id = Hex(head.trace_id);
  parsed.span_id = Hex(head.span_id);
  record = record.substr(sizeof head, head.attribute_bytes);
  std::map<std::uint8_t, std::string> attributes;
  while (record.size() >= 2) {
    const auto key = static_cast<std::uint8_t>(record[0]);
    const auto length = static_cast<std::uint8_t>(record[1]);
    if (record.size() < std::size_t{2} + length) break;
    attributes[key] = record.substr(2, length);
    record.remove_prefix(std::size_t{2} + length);
  }
  parsed.attributes.assign(attributes.begin(), attributes.end());
  return parsed;
}

}  // namespace profd::process
