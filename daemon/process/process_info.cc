#include "daemon/process/process_info.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "daemon/base/utf8.h"

namespace profd::process {
namespace {

constexpr std::size_t kMaxComm = 64;  // names of kernel workers are longer than those of programs
constexpr std::size_t kMaxText = 4'096;
constexpr std::size_t kMaxNamespaces = 33;  // the kernel nests them 32 deep

std::string Bounded(std::string_view text, std::size_t max_bytes) {
  return std::string(text.substr(0, max_bytes));
}

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

std::vector<std::uint32_t> ParseNumbers(std::string_view text, std::size_t max_count) {
  std::vector<std::uint32_t> numbers;
  while (numbers.size() < max_count) {
    const auto digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    text.remove_prefix(digit);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return numbers;
}

}  // namespace

std::string ParseComm(std::string_view text) {
  const auto end = text.find_last_not_of('\n');
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return Bounded(text.substr(0, text.find('\0')), kMaxComm);
}

std::string ParseCommandLine(std::string_view text) {
  const auto end = text.find_last_not_of('\0');
  if (end == std::string_view::npos) return {};
  std::string line = Bounded(text.substr(0, end + 1), kMaxText);
  std::ranges::replace(line, '\0', ' ');
  return line;
}

std::string ParseCgroup(std::string_view text) {
  constexpr std::string_view kUnified = "0::";
  std::string_view unified;
  std::string_view named;  // systemd's own hierarchy of version 1
  std::string_view other;  // of a controller of version 1
  while (!text.empty()) {
    const std::string_view line = FirstLine(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(kUnified)) {
      unified = line.substr(kUnified.size());
      continue;
    }
    const std::size_t path = line.find(":/");
    if (path == std::string_view::npos || line.substr(path + 1) == "/") continue;
    const bool of_systemd = line.substr(0, path).ends_with(":name=systemd");
    if (of_systemd && named.empty()) named = line.substr(path + 1);
    if (!of_systemd && other.empty()) other = line.substr(path + 1);
  }
  // Where version 1 is in use, the unified hierarchy is missing or has one group for all.
  if (!unified.empty() && unified != "/") return Bounded(unified, kMaxText);
  if (!named.empty()) return Bounded(named, kMaxText);
  return Bounded(other.empty() ? unified : other, kMaxText);
}

std::vector<std::uint32_t> ParseNamespacePids(std::string_view text) {
  return ParseNumbers(text, kMaxNamespaces);
}

Owner ParseOwner(std::string_view text) {
  constexpr std::size_t kEffective = 1;
  constexpr std::size_t kUids = 4;  // real, effective, saved, of the file system
  const std::string_view line = FirstLine(text);
  const auto uids = ParseNumbers(line, kUids);
  Owner owner;
  if (uids.size() != kUids) return owner;
  owner.uid = uids[kEffective];
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  const std::string_view user = FirstLine(text);
  owner.user = Bounded(user, kMaxComm);
  text.remove_prefix(std::min(user.size() + 1, text.size()));
  owner.sole =
      text == "sole" && std::ranges::count(uids, uids[kEffective]) == static_cast<long>(kUids);
  return owner;
}

ResourceRef ParseResource(std::string_view text) {
  constexpr std::size_t kMaxAttributes = 64;
  constexpr std::size_t kMaxValue = 1'024;
  std::map<std::string, std::string> attributes;
  const auto take = [&text] {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return ValidUtf8(taken.substr(0, kMaxValue));
  };
  while (!text.empty() && attributes.size() < kMaxAttributes) {
    std::string name = take();
    std::string value = take();
    if (!name.empty() && !value.empty()) attributes.emplace(std::move(name), std::move(value));
  }
  if (attributes.empty()) return nullptr;
  return std::make_shared<const std::map<std::string, std::string>>(std::move(attributes));
}

}  // namespace profd::process
