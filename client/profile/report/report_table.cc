#include "client/profile/report/report_table.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "client/profile/operators/region_workers.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/frame_places.h"
#include "client/profile/report/report_axis.h"
#include "client/profile/report/shown_stacks.h"

namespace profd::client {
namespace {

constexpr std::string_view kOtherColumn = "other";
constexpr std::string_view kFunction = "function";

// Rows of the values of an axis, which grow as these are met.
class Rows {
 public:
  ReportRow& Of(std::uint32_t value) {
    if (value >= rows_.size()) rows_.resize(value + 1);
    return rows_[value];
  }
  std::vector<ReportRow> Take(const ReportAxis& axis, const v1::Profile& profile) && {
    rows_.resize(axis.names().size());
    for (std::uint32_t value = 0; value < rows_.size(); ++value) {
      rows_[value].name = axis.names()[value];
      const std::uint32_t frame = axis.key().OfFrames() ? axis.FrameOf(value) : ReportAxis::kNone;
      if (axis.key().name != kFunction || frame == ReportAxis::kNone) continue;
      const v1::Frame& of = profile.frames(static_cast<int>(frame));
      if (of.kind() != v1::FRAME_PYTHON && of.kind() != v1::FRAME_PSEUDO)
        rows_[value].module = ModuleText(of);
    }
    return std::move(rows_);
  }

 private:
  std::vector<ReportRow> rows_;
};

// The nodes that have a parent, by that.
class Children {
 public:
  explicit Children(const ShownStacks& stacks) : begins_(stacks.size() + 1, 0) {
    for (std::uint32_t node = 1; node < stacks.size(); ++node) ++begins_[stacks.Parent(node) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    nodes_.resize(stacks.size() - 1);
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (std::uint32_t node = 1; node < stacks.size(); ++node)
      nodes_[next[stacks.Parent(node)]++] = node;
  }
  [[nodiscard]] std::span<const std::uint32_t> Of(std::uint32_t node) const {
    return std::span(nodes_).subspan(begins_[node], begins_[node + 1] - begins_[node]);
  }

 private:
  std::vector<std::uint32_t> begins_;  // by parent, into nodes_
  std::vector<std::uint32_t> nodes_;
};

// Of a node: first of itself, then with all above it.
struct NodeTime {
  ReportTime time;
  ErrorSum error;
};

// Adds the time of each node and what is above it to its value, unless it is below another one of
// that value: a recursion.
void AddTotals(const ShownStacks& stacks, const std::vector<NodeTime>& times, ReportAxis& axis,
               Rows& rows) {
  const Children children(stacks);
  std::vector<bool> is_open;  // by value: a node of it is on the way to this one
  struct Step {
    std::uint32_t node;
    std::uint32_t closes;  // the value that ends with this step, or kNone: it is entered
  };
  std::vector<Step> steps;
  const auto enter_children = [&](std::uint32_t node) {
    for (const std::uint32_t child : children.Of(node)) steps.push_back({child, ReportAxis::kNone});
  };
  enter_children(0);
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    if (step.closes != ReportAxis::kNone) {
      is_open[step.closes] = false;
      continue;
    }
    if (times[step.node].time.all().ns == 0) continue;
    const std::uint32_t value = axis.OfNode(step.node);
    if (value != ReportAxis::kNone) {
      if (value >= is_open.size()) is_open.resize(value + 1, false);
      if (!is_open[value]) {
        is_open[value] = true;
        rows.Of(value).total += times[step.node].time;
        rows.Of(value).total_error += times[step.node].error;
        steps.push_back({step.node, value});
      }
    }
    enter_children(step.node);
  }
}

void AddStacks(const v1::Profile& profile, const ShareError& error, const ShownStacks& stacks,
               ReportAxis& axis, Rows& rows) {
  std::vector<NodeTime> times(stacks.size());
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    NodeTime& of = times[stacks.Leaf(samples.node(i))];
    of.time.Add(profile, i);
    error.Add(i, of.error);
  }
  for (std::uint32_t node = 0; node < stacks.size(); ++node) {
    const auto& [time, sum] = times[node];
    if (time.all().ns == 0) continue;
    ReportRow& row = rows.Of(axis.OfLeaf(node));
    row.self += time;
    row.self_error += sum;
    // A row that no node has: of what has no stack, and of the innermost frame as a callee.
    if (node != 0 && axis.key().kind != ReportKeyKind::kCallee) continue;
    row.total += time;
    row.total_error += sum;
  }
  for (auto node = static_cast<std::uint32_t>(stacks.size() - 1); node > 0; --node) {
    if (stacks.Parent(node) == 0) continue;
    times[stacks.Parent(node)].time += times[node].time;
    times[stacks.Parent(node)].error += times[node].error;
  }
  AddTotals(stacks, times, axis, rows);
}

void AddInSteps(const v1::Profile& profile, const StepLoop& steps, ReportAxis& axis, Rows& rows) {
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    if (steps.StepAt(samples.time_ns(i)) == 0) continue;
    const std::uint64_t ns = samples.weight_ns(i);
    rows.Of(axis.Of(i)).in_steps += {ns, samples.count(i), samples.exact(i) ? ns : 0};
  }
}

// What the threads would have without a filter.
std::uint64_t LivedNs(const v1::Profile& profile, std::uint64_t least_ns) {
  std::uint64_t sum = 0;
  for (const v1::Thread& thread : profile.threads()) sum += LengthNs(thread);
  return std::max(sum, least_ns);
}

// By operator or phase: moves the work of workers to the row of the thread that they work for.
// Whether there is any.
bool AddWorkers(const v1::Profile& profile, ReportAxis& axis, Rows& rows) {
  const RegionWorkers workers(profile, axis.operators());
  if (workers.empty()) return false;
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    if (PartOf(profile, i) != TimePart::kWorking) continue;
    const std::uint64_t ns = samples.weight_ns(i);
    rows.Of(axis.Of(workers.LeaderOf(i).value_or(i))).with_workers +=
        {ns, samples.count(i), samples.exact(i) ? ns : 0};
  }
  return true;
}

using Measure = std::function<std::uint64_t(const ReportRow& row)>;

Measure MeasureOf(const ReportKey& key, std::string_view column) {
  const bool frames = key.OfFrames();
  if (column == "samples") return [](const ReportRow& row) { return row.self.all().points; };
  if (column == "running")
    return [](const ReportRow& row) {
      return row.self[TimePart::kWorking].ns + row.self[TimePart::kSpinning].ns;
    };
  if (column == "with-workers" && key.by_operators)
    return [](const ReportRow& row) { return row.with_workers.ns; };
  if (column == "name") return [](const ReportRow&) { return std::uint64_t{0}; };
  if (column == "cycles") return [](const ReportRow& row) { return row.self.counts.cycles; };
  if (column == "instructions")
    return [](const ReportRow& row) { return row.self.counts.instructions; };
  if (column == "misses") return [](const ReportRow& row) { return row.self.counts.cache_misses; };
  if (frames && column == "total") return [](const ReportRow& row) { return row.total.all().ns; };
  if (column == (frames ? "self" : "time"))
    return [](const ReportRow& row) { return row.self.all().ns; };
  for (std::size_t i = 0; i < kParts; ++i)
    if (column == PartName(static_cast<TimePart>(i)))
      return [i](const ReportRow& row) { return row.self.parts[i].ns; };
  return {};
}

struct Axes {
  ReportAxis rows;
  ReportAxis columns;
};

std::vector<std::uint32_t> ByTime(const std::vector<SampledTime>& sums,
                                  const std::vector<std::string>& names) {
  std::vector<std::uint32_t> order(sums.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return sums[a].ns != sums[b].ns ? sums[a].ns > sums[b].ns : names[a] < names[b];
  });
  return order;
}

}  // namespace

ReportTable TableBy(const ReportKey& key, const v1::Profile& profile, const TableOptions& options) {
  const ShareError error =
      options.errors == nullptr ? ShareError(profile) : ShareError(profile, *options.errors);
  const ShownStacks stacks(profile, options.kernel);
  ReportAxis axis(key, {.profile = profile, .style = options.style, .steps = options.steps},
                  stacks);
  Rows rows;
  bool infers = false;
  if (key.OfFrames()) {
    AddStacks(profile, error, stacks, axis, rows);
  } else {
    for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
      ReportRow& row = rows.Of(axis.Of(i));
      row.self.Add(profile, i);
      error.Add(i, row.self_error);
    }
    infers = key.by_operators && AddWorkers(profile, axis, rows);
  }
  const StepLoop* const steps = key.by_operators ? options.steps : nullptr;
  if (steps != nullptr) AddInSteps(profile, *steps, axis, rows);
  ReportTable table{.key = &key, .rows = std::move(rows).Take(axis, profile), .all = {}};
  table.counted = HasCounts(profile);
  table.infers = infers;
  table.steps = steps;
  for (ReportRow& row : table.rows) {
    table.all += row.self;
    table.error += row.self_error;
    if (key.OfFrames()) continue;
    row.total = row.self;
    row.total_error = row.self_error;
  }
  table.lived_ns = LivedNs(profile, table.all.all().ns);
  return table;
}

std::optional<double> ReportTable::ReachOf(const ErrorSum& of) const {
  return ShareReach(of, error);
}

std::optional<std::uint64_t> ReportTable::ReachNs(const ErrorSum& of) const {
  const auto reach = ShareReach(of, lived_ns);
  if (!reach) return std::nullopt;
  return static_cast<std::uint64_t>(*reach * static_cast<double>(lived_ns));
}

std::uint64_t ReportTable::StepNs(const ReportRow& row) const {
  return row.in_steps.ns / steps->steps();
}

std::vector<std::string> SortColumns(const ReportKey& key, bool counted) {
  std::vector<std::string> columns;
  if (key.OfFrames())
    columns = {"self", "total"};
  else
    columns = {"time"};
  columns.emplace_back("running");
  for (std::size_t i = 0; i < kParts; ++i) columns.emplace_back(PartName(static_cast<TimePart>(i)));
  if (key.by_operators) columns.emplace_back("with-workers");
  if (counted) columns.insert(columns.end(), {"cycles", "instructions", "misses"});
  columns.insert(columns.end(), {"samples", "name"});
  return columns;
}

Result<void> SortRows(ReportTable& table, std::string_view column) {
  const std::vector<std::string> columns = SortColumns(*table.key, table.counted);
  const std::string_view by = column.empty() ? std::string_view(columns.front()) : column;
  const Measure measure = MeasureOf(*table.key, by);
  if (!measure || std::ranges::find(columns, by) == columns.end()) {
    std::string names;
    for (const std::string& name : columns) names += (names.empty() ? "" : ", ") + name;
    return Error{ErrorCode::kInvalidArgument,
                 "--sort: a table by " + std::string(table.key->name) + " has no column '" +
                     std::string(column) + "'",
                 "it has " + names};
  }
  struct Measured {
    std::uint64_t value;
    std::uint64_t total_ns;
    ReportRow row;
  };
  const bool by_name = column == "name";
  std::vector<Measured> measured;
  measured.reserve(table.rows.size());
  for (ReportRow& row : table.rows)
    measured.push_back({measure(row), by_name ? 0 : row.total.all().ns, std::move(row)});
  std::ranges::sort(measured, [](const Measured& a, const Measured& b) {
    return std::tuple(b.value, b.total_ns, std::string_view(a.row.name)) <
           std::tuple(a.value, a.total_ns, std::string_view(b.row.name));
  });
  for (std::size_t i = 0; i < measured.size(); ++i) table.rows[i] = std::move(measured[i].row);
  return {};
}

CrossTable CrossBy(const ReportKey& row_key, const ReportKey& column_key,
                   const v1::Profile& profile, const TableOptions& options) {
  const ShownStacks stacks(profile, options.kernel);
  const KeyContext context{.profile = profile, .style = options.style, .steps = options.steps};
  Axes axes{{row_key, context, stacks}, {column_key, context, stacks}};
  std::unordered_map<std::uint64_t, SampledTime> cells;
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const std::uint64_t ns = samples.weight_ns(i);
    const std::uint64_t row = axes.rows.Of(i);
    cells[row << 32 | axes.columns.Of(i)] += {ns, samples.count(i), samples.exact(i) ? ns : 0};
  }
  std::vector<SampledTime> row_sums(axes.rows.names().size());
  std::vector<SampledTime> column_sums(axes.columns.names().size());
  CrossTable table;
  table.row_key = &row_key;
  table.column_key = &column_key;
  for (const auto& [place, time] : cells) {
    row_sums[place >> 32] += time;
    column_sums[static_cast<std::uint32_t>(place)] += time;
    table.all += time;
  }
  const auto column_order = ByTime(column_sums, axes.columns.names());
  const bool joins = column_order.size() > kMostColumns;
  const std::size_t columns = joins ? kMostColumns : column_order.size();
  std::vector<std::uint32_t> place_of(column_order.size());  // by value: the column
  table.sums.resize(columns);
  for (std::size_t i = 0; i < column_order.size(); ++i) {
    const std::size_t place = std::min(i, columns - 1);
    place_of[column_order[i]] = static_cast<std::uint32_t>(place);
    table.sums[place] += column_sums[column_order[i]];
    if (i < columns) table.columns.push_back(axes.columns.names()[column_order[i]]);
  }
  if (joins) table.columns.back() = kOtherColumn;
  std::vector<std::size_t> row_of(row_sums.size());
  for (const std::uint32_t row : ByTime(row_sums, axes.rows.names())) {
    row_of[row] = table.rows.size();
    table.rows.push_back(
        {axes.rows.names()[row], std::vector<SampledTime>(columns), row_sums[row]});
  }
  for (const auto& [place, time] : cells)
    table.rows[row_of[place >> 32]].cells[place_of[static_cast<std::uint32_t>(place)]] += time;
  return table;
}

CrossTable WithColumns(const CrossTable& table, std::size_t most) {
  if (table.columns.size() <= most || most == 0) return table;
  CrossTable joined = table;
  const auto kept = static_cast<std::ptrdiff_t>(most - 1);
  const auto join = [&](std::vector<SampledTime>& cells) {
    SampledTime other;
    for (auto cell = cells.begin() + kept; cell != cells.end(); ++cell) other += *cell;
    cells.erase(cells.begin() + kept, cells.end());
    cells.push_back(other);
  };
  joined.columns.erase(joined.columns.begin() + kept, joined.columns.end());
  joined.columns.emplace_back(kOtherColumn);
  join(joined.sums);
  for (CrossRow& row : joined.rows) join(row.cells);
  return joined;
}

}  // namespace profd::client
