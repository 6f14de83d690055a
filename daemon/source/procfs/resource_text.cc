#include "daemon/source/procfs/resource_text.h"

#include <algorithm>
#include <optional>

#include "daemon/base/utf8.h"

namespace profd::source {
namespace {

constexpr std::string_view kService = "OTEL_SERVICE_NAME=";
constexpr std::string_view kAttributes = "OTEL_RESOURCE_ATTRIBUTES=";
constexpr std::string_view kSpace = " \t";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Nothing: a percent sign without two hexadecimal digits.
std::optional<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return decoded;
}

// "service.version=1.2,team=a%2Cb".
ResourceAttributes ParseList(std::string_view list) {
  ResourceAttributes attributes;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view pair = Trimmed(list.substr(0, comma), kSpace);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return {};
    const auto name = Decode(Trimmed(pair.substr(0, equals), kSpace));
    const auto value = Decode(Trimmed(pair.substr(equals + 1), kSpace));
    if (!name || !value || name->empty()) return {};
    AddAttribute(*name, *value, attributes);
  }
  return attributes;
}

std::string WithoutControls(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const CodePoint point = TakeCodePoint(text);
    safe += point.valid && !IsUnsafeToPrint(point.code) ? point.bytes : kReplacementCharacter;
  }
  return safe;
}

}  // namespace

void AddAttribute(std::string_view name, std::string_view value, ResourceAttributes& attributes) {
  if (name.empty() || name.size() > kMaxAttributeName || value.empty() ||
      attributes.size() >= kMaxAttributes)
    return;
  attributes.emplace(WithoutControls(name), WithoutControls(value.substr(0, kMaxAttributeValue)));
}

ResourceAttributes ResourceOf(std::string_view environment) {
  std::string_view service;
  std::string_view list;
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view variable = environment.substr(0, end);
    environment.remove_prefix(std::min(end + 1, environment.size()));
    // As getenv(3): the first of a name counts.
    if (service.empty() && variable.starts_with(kService))
      service = variable.substr(kService.size());
    if (list.empty() && variable.starts_with(kAttributes))
      list = variable.substr(kAttributes.size(), kMaxResourceText);
  }
  ResourceAttributes attributes = ParseList(list);
  if (service = Trimmed(service, kSpace); !service.empty()) {
    attributes.erase("service.name");
    if (attributes.size() == kMaxAttributes) attributes.erase(std::prev(attributes.end()));
    AddAttribute("service.name", service, attributes);
  }
  return attributes;
}

std::string PackResource(const ResourceAttributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    if (text.size() + name.size() + value.size() + 2 > kMaxResourceText) break;
    text.append(name).push_back('\0');
    text.append(value).push_back('\0');
  }
  return text;
}

}  // namespace profd::source
