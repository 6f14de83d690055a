#include "client/fleet/fleet_rows.h"

#include <algorithm>
#include <utility>

#include "client/profile/check_profile.h"
#include "client/profile/wait_reasons.h"

namespace profd::client {
namespace {

Error TooMany(std::string_view what, std::size_t most) {
  return Error{ErrorCode::kExhausted,
               "the answer has more than " + std::to_string(most) + " " + std::string(what),
               "request less: a shorter time, fewer hosts, or less that is distinguished"};
}

std::vector<std::string> Keys(RowReader& reader, std::size_t count) {
  std::vector<std::string> keys(count);
  for (std::string& key : keys) key = reader.Text();
  return keys;
}

std::uint8_t Group(RowReader& reader) {
  const std::uint8_t group = reader.Byte();
  if (group >= kHostGroups) reader.Fail();
  return group;
}

std::vector<v1::FrameKind> Kinds(RowReader& reader) {
  std::vector<v1::FrameKind> kinds(reader.Count());
  for (v1::FrameKind& kind : kinds) {
    const std::uint8_t number = reader.Byte();
    if (!v1::FrameKind_IsValid(number)) reader.Fail();
    kind = static_cast<v1::FrameKind>(number);
  }
  return kinds;
}

}  // namespace

FleetState StateOf(RowReader& reader) {
  const std::uint8_t state = reader.Byte();
  if (state >= static_cast<std::uint8_t>(FleetState::kRunning) &&
      state <= static_cast<std::uint8_t>(FleetState::kStolen))
    return static_cast<FleetState>(state);
  reader.Fail();
  return FleetState::kRunning;
}

v1::WaitReason WaitNamed(std::string_view name) {
  if (name.empty()) return v1::WAIT_NONE;
  const auto reasons = WaitReasons();
  const auto found = std::ranges::find(reasons, name, &WaitReasonEntry::name);
  return found == reasons.end() ? v1::WAIT_OTHER : found->reason;
}

Result<std::vector<FleetRow>> ReadRows(std::string_view answer, std::size_t keys) {
  RowReader reader(answer);
  std::vector<FleetRow> rows;
  while (reader.more()) {
    if (rows.size() == kMostFleetRows) return TooMany("stacks", kMostFleetRows);
    FleetRow& row = rows.emplace_back();
    row.keys = Keys(reader, keys);
    row.group = Group(reader);
    row.thread = reader.Text();
    row.state = StateOf(reader);
    const std::string wait = reader.Text();
    if (row.state == FleetState::kBlocked) row.wait = WaitNamed(wait);
    row.hash = reader.Number64();
    row.ns = reader.Number64();
    row.points = reader.Number64();
  }
  PROFD_TRY(reader.error());
  return rows;
}

Result<FleetStacks> ReadStacks(std::string_view answer) {
  RowReader reader(answer);
  FleetStacks stacks;
  while (reader.more()) {
    if (stacks.size() == kMostFleetRows) return TooMany("stacks", kMostFleetRows);
    const std::uint64_t hash = reader.Number64();
    FleetStack stack{.functions = TextsOf(reader),
                     .modules = TextsOf(reader),
                     .files = TextsOf(reader),
                     .kinds = Kinds(reader)};
    const std::size_t depth = stack.functions.size();
    if (depth > kMaxStackDepth || stack.modules.size() != depth || stack.files.size() != depth ||
        stack.kinds.size() != depth)
      reader.Fail();
    stacks.insert_or_assign(hash, std::move(stack));
  }
  PROFD_TRY(reader.error());
  return stacks;
}

Result<std::vector<FleetPart>> ReadParts(std::string_view answer, std::size_t keys) {
  RowReader reader(answer);
  std::vector<FleetPart> parts;
  while (reader.more()) {
    if (parts.size() == kMostFleetParts) return TooMany("parts", kMostFleetParts);
    FleetPart& part = parts.emplace_back();
    part.keys = Keys(reader, keys);
    part.group = Group(reader);
    part.hosts = reader.Number64();
    part.windows = reader.Number64();
  }
  PROFD_TRY(reader.error());
  return parts;
}

}  // namespace profd::client
