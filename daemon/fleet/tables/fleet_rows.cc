#include "daemon/fleet/tables/fleet_rows.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "daemon/fleet/profile/equal_rows.h"

namespace profd::fleet {
namespace {

struct Column {
  std::string_view label;
  std::string LabelColumns::*column;
};

// Where two labels have one column, the first one that is there counts.
constexpr std::array kColumns = {
    Column{"service.name", &LabelColumns::service},
    Column{"service.version", &LabelColumns::version},
    Column{"cloud.availability_zone", &LabelColumns::zone},
    Column{"k8s.namespace.name", &LabelColumns::name_space},
    Column{"k8s.pod.name", &LabelColumns::pod},
    Column{"k8s.container.name", &LabelColumns::container},
    Column{"container.name", &LabelColumns::container},
    Column{"systemd.unit", &LabelColumns::unit},
    Column{"process.executable.name", &LabelColumns::executable},
};
constexpr std::array<std::string_view, 4> kLeftOut = {"host.name", "container.id", "k8s.pod.uid",
                                                      "process.executable.build_id.gnu"};

auto KeyOf(const FleetSample& row) {
  return std::tuple(row.columns, row.part, row.wait, row.thread, row.stack, row.path);
}

std::vector<FleetClock> ClocksOf(const FleetRows& rows) {
  std::vector<FleetClock> clocks;
  const auto key = [](const FleetClock& clock) {
    return std::tie(clock.service, clock.version, clock.zone, clock.name_space, clock.pod,
                    clock.part, clock.wait);
  };
  // Rows are sorted by labels, state and reason: this many clocks at most.
  for (const FleetSample& row : rows.samples) {
    const LabelColumns& from = rows.columns[row.columns];
    FleetClock clock{from.service, from.version, from.zone, from.name_space,
                     from.pod,     row.part,     row.wait,  row.ns};
    if (!clocks.empty() && key(clocks.back()) == key(clock))
      clocks.back().ns += row.ns;
    else
      clocks.push_back(std::move(clock));
  }
  std::ranges::sort(clocks,
                    [&](const FleetClock& a, const FleetClock& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    if (kept != 0 && key(clocks[kept - 1]) == key(clocks[i]))
      clocks[kept - 1].ns += clocks[i].ns;
    else if (kept++ != i)
      clocks[kept - 1] = std::move(clocks[i]);
  }
  clocks.erase(clocks.begin() + static_cast<std::ptrdiff_t>(kept), clocks.end());
  return clocks;
}

// How many of the first samples stay, so that there are `most` with one for each set of labels,
// state and reason of the others; half of `most` at least. One sample less that stays is one set
// more at most.
std::size_t KeptOf(const std::vector<FleetSample>& samples, std::size_t most) {
  std::set<std::tuple<std::uint32_t, Part, process::WaitReason>> sets;
  for (std::size_t kept = samples.size(); kept-- > most / 2;) {
    sets.emplace(samples[kept].columns, samples[kept].part, samples[kept].wait);
    if (kept + sets.size() <= most) return kept;
  }
  return most / 2;
}

void SortByTime(std::vector<FleetSample>& samples) {
  std::ranges::sort(samples, [](const FleetSample& a, const FleetSample& b) {
    return a.ns != b.ns ? a.ns > b.ns : KeyOf(a) < KeyOf(b);
  });
}

// Of the rows beyond the half of `most` with the most time, `shorter` makes paths that more of them
// have.
template <typename Shorter>
void ShortenPaths(std::size_t most, Shorter shorter, FleetRows& rows) {
  if (rows.samples.size() <= most) return;
  SortByTime(rows.samples);
  for (std::size_t i = most / 2; i < rows.samples.size(); ++i)
    rows.samples[i].path = shorter(rows.samples[i].path);
  SumEqual(rows.samples, KeyOf);
}

void CutOff(std::size_t most, std::uint32_t other_stack, std::uint32_t no_thread, FleetRows& rows) {
  if (rows.samples.size() <= most) return;
  SortByTime(rows.samples);
  for (std::size_t i = KeptOf(rows.samples, most); i < rows.samples.size(); ++i) {
    rows.samples[i].stack = other_stack;
    rows.samples[i].thread = no_thread;
    rows.samples[i].path = 0;
    rows.other_ns += rows.samples[i].ns;
  }
  SumEqual(rows.samples, KeyOf);
}

}  // namespace

LabelColumns ColumnsOf(const Labels& labels) {
  LabelColumns columns;
  for (const Column& one : kColumns)
    if (const auto label = labels.find(std::string(one.label));
        label != labels.end() && (columns.*one.column).empty())
      columns.*one.column = label->second;
  for (const auto& [name, value] : labels) {
    const bool is_column =
        std::ranges::any_of(kColumns, [&](const Column& one) { return one.label == name; });
    if (!is_column && std::ranges::find(kLeftOut, name) == kLeftOut.end())
      columns.labels.emplace(name, value);
  }
  return columns;
}

FleetRows MakeFleetRows(const ExportProfile& profile, std::size_t most, FleetStacks& stacks,
                        FleetPaths& paths) {
  FleetRows rows;
  Numbering<LabelColumns> column_number(rows.columns);
  std::vector<std::uint32_t> columns_of;
  for (const Labels& labels : profile.label_sets) {
    const LabelColumns columns = ColumnsOf(labels);
    if (rows.zone.empty()) rows.zone = columns.zone;
    columns_of.push_back(column_number(columns));
  }
  Numbering<std::string> thread_number(rows.threads);
  std::vector<std::uint32_t> thread_of;
  thread_of.reserve(profile.threads.size());
  for (const std::string& name : profile.threads)
    thread_of.push_back(thread_number(ThreadGroup(name)));
  for (const ExportRow& row : profile.rows)
    rows.samples.push_back({columns_of[row.labels], thread_of[row.thread], stacks.Of(row), row.part,
                            row.wait, row.count, row.ns, paths.Of(row.path)});
  SumEqual(rows.samples, KeyOf);
  if (!profile.paths.empty()) {
    ShortenPaths(
        most, [&](std::uint32_t path) { return paths.WithoutStacks(path); }, rows);
    ShortenPaths(
        most, [](std::uint32_t) { return 0U; }, rows);
  }
  rows.clocks = ClocksOf(rows);
  if (rows.samples.size() > most)
    CutOff(most, stacks.Pseudo(kOtherStack), thread_number(std::string()), rows);
  return rows;
}

}  // namespace profd::fleet
