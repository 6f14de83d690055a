#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "daemon/session/session_control.h"

namespace profd::session {
namespace {

constexpr std::string_view kChildren = " +children";
constexpr std::string_view kKernel = " +kernel";
constexpr std::string_view kPidns = " +pidns=";
constexpr std::string_view kUid = " +uid=";

// Names are what the caller typed: control characters, backslashes and anything that could be read
// as a flag are written \xHH, so that every name survives the way there and back. So are commas
// where the name is one of a list.
std::string Escape(std::string_view name, bool in_list = false) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  char before = ' ';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '\\' || (c == '+' && before == ' ') ||
        (c == ',' && in_list)) {
      text.append("\\x").push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    } else {
      text.push_back(c);
    }
    before = c;
  }
  return text;
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

Result<std::string> Unescape(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    if (text[0] != '\\') {
      name.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    unsigned char byte = 0;
    if (text.size() < 4 || text[1] != 'x' || !ParseNumber(text.substr(2, 2), &byte, 16))
      return Error{ErrorCode::kInvalidArgument, "bad escape in the name of a target", ""};
    name.push_back(static_cast<char>(byte));
    text.remove_prefix(4);
  }
  return name;
}

bool StripFlag(std::string_view flag, std::string_view* text) {
  if (!text->ends_with(flag)) return false;
  text->remove_suffix(flag.size());
  return true;
}

// A flag with a number at the end of `text`.
std::optional<std::uint32_t> StripNumber(std::string_view flag, std::string_view* text) {
  const auto at = text->rfind(flag);
  std::uint32_t number = 0;
  if (at == std::string_view::npos || !ParseNumber(text->substr(at + flag.size()), &number))
    return std::nullopt;
  text->remove_suffix(text->size() - at);
  return number;
}

// Takes the flags off the end of `text`.
void ParseFlags(std::string_view* text, Target* target) {
  while (true) {
    if (StripFlag(kChildren, text)) {
      target->children = true;
    } else if (StripFlag(kKernel, text)) {
      target->kernel_threads = true;
    } else if (const auto inode = StripNumber(kPidns, text)) {
      target->pidns_inode = *inode;
    } else if (const auto uid = StripNumber(kUid, text)) {
      target->uid = *uid;
    } else {
      return;
    }
  }
}

Result<std::vector<std::uint32_t>> ParseIds(std::string_view text) {
  std::vector<std::uint32_t> ids;
  while (true) {
    const auto comma = text.find(',');
    std::uint32_t id = 0;
    if (!ParseNumber(text.substr(0, comma), &id) || id == 0) {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + std::string(text.substr(0, comma)) + "' is not a process or thread id",
                   ""};
    }
    ids.push_back(id);
    if (comma == std::string_view::npos) return ids;
    text.remove_prefix(comma + 1);
  }
}

Result<Target> ParseLabels(std::string_view text, Target target) {
  target.kind = TargetKind::kLabels;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    auto label = Unescape(text.substr(0, comma));
    if (!label) return label.error();
    target.labels.push_back(*std::move(label));
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return target;
}

std::string JoinLabels(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels)
    text.append(text.empty() ? "" : ",").append(Escape(label, true));
  return text;
}

std::string JoinIds(const std::vector<std::uint32_t>& ids) {
  std::string text;
  for (const std::uint32_t id : ids) {
    if (!text.empty()) text.push_back(',');
    text.append(std::to_string(id));
  }
  return text;
}

}  // namespace

std::string FormatTarget(const Target& target) {
  std::string text;
  switch (target.kind) {
    case TargetKind::kAll:
      text = "all";
      break;
    case TargetKind::kPids:
      text = target.labels.empty() ? "pid " + JoinIds(target.ids)
                                   : "label " + JoinLabels(target.labels);
      break;
    case TargetKind::kTids:
      text = "tid " + JoinIds(target.ids);
      break;
    case TargetKind::kComm:
      text = "comm " + Escape(target.name);
      break;
    case TargetKind::kCgroup:
      text = "cgroup " + Escape(target.name);
      break;
    case TargetKind::kLabels:
      text = "label " + JoinLabels(target.labels);
      break;
  }
  if (target.children) text.append(kChildren);
  if (target.kernel_threads) text.append(kKernel);
  if (target.uid) text.append(kUid).append(std::to_string(*target.uid));
  if (target.pidns_inode != 0) text.append(kPidns).append(std::to_string(target.pidns_inode));
  return text;
}

Result<Target> ParseTarget(const std::string& text) {
  Target target;
  std::string_view rest = text;
  ParseFlags(&rest, &target);
  if (rest == "all") return target;

  const auto space = rest.find(' ');
  const std::string_view kind = rest.substr(0, space);
  rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  if (kind == "pid" || kind == "tid") {
    target.kind = kind == "pid" ? TargetKind::kPids : TargetKind::kTids;
    auto ids = ParseIds(rest);
    if (!ids) return ids.error();
    target.ids = *std::move(ids);
    return target;
  }
  if (kind == "label" && !rest.empty()) return ParseLabels(rest, std::move(target));
  if ((kind == "comm" || kind == "cgroup") && !rest.empty()) {
    target.kind = kind == "comm" ? TargetKind::kComm : TargetKind::kCgroup;
    auto name = Unescape(rest);
    if (!name) return name.error();
    target.name = *std::move(name);
    return target;
  }
  return Error{ErrorCode::kInvalidArgument, "'" + text + "' is not a target",
               "targets read 'all', 'pid 12,13', 'tid 12', 'comm NAME', 'cgroup PATH' or 'label "
               "NAME=VALUE'"};
}

}  // namespace profd::session
