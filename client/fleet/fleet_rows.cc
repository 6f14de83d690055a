#include "client/fleet/fleet_rows.h"

#include <algorithm>
#include <utility>

#include "client/profile/check_profile.h"
#include "client/profile/wait_reasons.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxPathSteps = 64;
// Of the enum in tables.sql, which has no other user than the one of the host.
constexpr std::uint8_t kHiddenOfTables = 12;

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

// Of a newer host: what is not known here is no end that is.
v1::PathKind PathKindOf(RowReader& reader) {
  const std::uint8_t number = reader.Byte();
  if (number == 0) reader.Fail();
  if (number == kHiddenOfTables) return v1::PATH_NOT_EXPORTED;
  return v1::PathKind_IsValid(number) ? static_cast<v1::PathKind>(number) : v1::PATH_NOT_SEEN;
}

v1::PathHow PathHowOf(RowReader& reader) {
  const std::uint8_t number = reader.Byte();
  return v1::PathHow_IsValid(number) ? static_cast<v1::PathHow>(number) : v1::HOW_WOKE;
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
    row.path = reader.Number64();
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

Result<FleetPaths> ReadPaths(std::string_view answer) {
  RowReader reader(answer);
  FleetPaths paths;
  while (reader.more()) {
    if (paths.size() == kMostFleetRows) return TooMany("paths", kMostFleetRows);
    const std::uint64_t hash = reader.Number64();
    FleetPath path;
    path.steps.resize(reader.Count());
    for (FleetStep& step : path.steps) step.kind = PathKindOf(reader);
    const auto column = [&](auto read) {
      if (reader.Count() != path.steps.size()) reader.Fail();
      for (FleetStep& step : path.steps) read(step);
    };
    column([&](FleetStep& step) { step.how = PathHowOf(reader); });
    column([&](FleetStep& step) {
      const std::string wait = reader.Text();
      if (step.kind == v1::PATH_WAITS) step.wait = WaitNamed(wait);
    });
    column([&](FleetStep& step) { step.thread = reader.Text(); });
    column([&](FleetStep& step) { step.service = reader.Text(); });
    column([&](FleetStep& step) { step.own = reader.Byte() != 0; });
    column([&](FleetStep& step) { step.stack = reader.Number64(); });
    path.estimated = reader.Byte() != 0;
    if (path.steps.empty() || path.steps.size() > kMaxPathSteps) reader.Fail();
    paths.insert_or_assign(hash, std::move(path));
  }
  PROFD_TRY(reader.error());
  return paths;
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
