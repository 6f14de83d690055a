#include "client/commands/web/history_strip.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kLeastStepNs = 1'000'000;

// Most time on a CPU or waiting for one first: most of all time is that of threads that wait.
std::pair<std::uint64_t, std::uint64_t> Rank(const StripGroup& group) {
  const std::uint64_t all = std::accumulate(group.ns.begin(), group.ns.end(), std::uint64_t{0});
  return {all - group.ns[static_cast<std::size_t>(TimePart::kBlocked)], all};
}

}  // namespace

StripColumn ColumnOf(const v1::Profile& profile, GroupKey by) {
  StripColumn column;
  column.from_unix_ns = profile.start_unix_ns();
  column.to_unix_ns = profile.start_unix_ns() + LengthNs(profile);
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> group_of;
  for (const v1::Thread& thread : profile.threads()) {
    const auto [at, added] =
        known.try_emplace(SafeName(GroupOf(profile, thread, by)), column.groups.size());
    if (added) column.groups.push_back({.name = at->first});
    group_of.push_back(at->second);
  }
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const auto part = static_cast<std::size_t>(PartOf(profile, i));
    column.ns[part] += samples.weight_ns(i);
    column.groups[group_of[samples.thread(i)]].ns[part] += samples.weight_ns(i);
  }
  std::erase_if(column.groups, [](const StripGroup& group) { return Rank(group).second == 0; });
  std::ranges::stable_sort(column.groups, std::ranges::greater(), Rank);
  if (column.groups.size() <= kStripGroups) return column;
  StripGroup others{.name = "[others]"};
  for (std::size_t i = kStripGroups - 1; i < column.groups.size(); ++i)
    for (std::size_t part = 0; part < kParts; ++part) others.ns[part] += column.groups[i].ns[part];
  column.groups.resize(kStripGroups - 1);
  column.groups.push_back(std::move(others));
  return column;
}

Result<Strip> HistoryStrip(const StripQuestion& question, ProfileSources& sources) {
  if (question.from_unix_ns >= question.to_unix_ns)
    return Error{ErrorCode::kInvalidArgument, "the range is empty", ""};
  if (question.step_ns < kLeastStepNs)
    return Error{ErrorCode::kInvalidArgument, "a column takes at least 1 ms", ""};
  Strip strip{.columns = {}, .next_unix_ns = question.from_unix_ns};
  for (std::size_t i = 0; i < kStripColumns && strip.next_unix_ns < question.to_unix_ns; ++i) {
    const std::uint64_t room = question.to_unix_ns - strip.next_unix_ns;
    const std::uint64_t end = strip.next_unix_ns + std::min(question.step_ns, room);
    HistoryQuestion of = question.of;
    of.request.clear_since_ns();
    of.request.set_from_unix_ns(strip.next_unix_ns);
    of.request.set_to_unix_ns(end);
    const auto profile = sources.Ask(of);
    if (!profile && profile.error().code != ErrorCode::kNotFound) return profile.error();
    strip.next_unix_ns = end;
    if (!profile) continue;
    StripColumn column = ColumnOf(*profile, question.by);
    // The next one begins behind the last window of this one.
    strip.next_unix_ns = std::max(end, column.to_unix_ns + kStripMarginNs);
    if (!column.groups.empty()) strip.columns.push_back(std::move(column));
  }
  return strip;
}

}  // namespace profd::client
