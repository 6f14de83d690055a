#include "client/fleet/service_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "client/fleet/fleet_answers.h"
#include "client/fleet/row_reader.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostRows = 20'000;
constexpr double kNsPerSecond = 1e9;

std::string Columns(const FleetQuestion& question) {
  std::string columns;
  for (const FleetKey key : question.apart) columns += std::string(EntryOf(key).name) + ", ";
  return columns;
}

std::uint64_t LengthOf(const Coverage& coverage) {
  return static_cast<std::uint64_t>(
      std::llround(std::max(1.0, coverage.to_s - coverage.from_s) * kNsPerSecond));
}

std::string Ago(double seconds) {
  return FormatSpan(static_cast<std::uint64_t>(std::max(0.0, seconds) * kNsPerSecond)) + " ago";
}

}  // namespace

Result<std::vector<ServiceRow>> ReadServices(std::string_view answer, std::size_t keys) {
  RowReader reader(answer);
  std::vector<ServiceRow> rows;
  while (reader.more()) {
    if (rows.size() == kMostRows)
      return Error{ErrorCode::kExhausted,
                   "there are more than " + std::to_string(kMostRows) + " rows",
                   "request a part of them: --service, --zone, --host"};
    ServiceRow& row = rows.emplace_back();
    row.keys.resize(keys);
    for (std::string& key : row.keys) key = reader.Text();
    row.hosts = reader.Number64();
    row.versions = reader.Number64();
    for (std::uint64_t& ns : row.ns) ns = reader.Number64();
    row.last_s = reader.Number32();
  }
  PROFD_TRY(reader.error());
  return rows;
}

Result<ServiceTable> AskServices(const FleetQuestion& question, std::uint64_t now_s,
                                 FleetDatabase& database) {
  ServiceTable table{.question = question, .coverage = {}, .now_s = now_s, .rows = {}};
  const bool clock = FitsClock(question);
  const FleetCondition condition =
      ConditionOf(question, clock ? FleetTable::kClock : FleetTable::kSample);
  const std::string keys = Columns(question);
  std::string sums;
  for (std::size_t state = 1; state <= kFleetStates; ++state)
    sums += "sumIf(ns, toInt8(state) = " + std::to_string(state) + "), ";
  const auto answer = database.Select(
      "SELECT " + keys + "toUInt64(uniqExact(host)), toUInt64(uniqExact(version)), " + sums +
          "toUInt32(max(time)) FROM " + (clock ? "clock" : "sample") + " WHERE " + condition.sql +
          (keys.empty() ? "" : " GROUP BY " + keys.substr(0, keys.size() - 2)) +
          " ORDER BY sumIf(ns, toInt8(state) <= 2) DESC" +
          (keys.empty() ? "" : ", " + keys.substr(0, keys.size() - 2)) + " LIMIT " +
          std::to_string(kMostRows + 1),
      condition.parameters);
  if (!answer) return answer.error();
  auto rows = ReadServices(*answer, question.apart.size());
  if (!rows) return rows.error();
  table.rows = *std::move(rows);
  std::erase_if(table.rows, [](const ServiceRow& row) { return row.hosts == 0; });
  if (table.rows.empty()) return NothingOf(question, database);
  auto coverage = AskCoverage(question, now_s, database);
  if (!coverage) return coverage.error();
  table.coverage = *std::move(coverage);
  return table;
}

std::string RenderServices(const ServiceTable& table, const ServiceTableOptions& options) {
  const std::uint64_t length_ns = LengthOf(table.coverage);
  std::vector<Column> columns;
  columns.reserve(table.question.apart.size());
  for (const FleetKey key : table.question.apart)
    columns.push_back({std::string(EntryOf(key).name), Align::kLeft, Shrink::kMiddle});
  for (const char* name : {"hosts", "versions", "threads", "working", "spinning", "runnable",
                           "blocked", "stolen", "last window"})
    columns.push_back({name, Align::kRight});
  Table out(std::move(columns));
  const auto has = [&](FleetKey key) {
    return std::ranges::find(table.question.apart, key) != table.question.apart.end();
  };
  const std::size_t shown =
      options.complete ? table.rows.size() : std::min(table.rows.size(), kServiceRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const ServiceRow& row = table.rows[i];
    std::vector<std::string> cells;
    for (std::size_t key = 0; key < row.keys.size(); ++key)
      cells.push_back(row.keys[key].empty()
                          ? "[no " + std::string(EntryOf(table.question.apart[key]).name) + "]"
                          : SafeText(row.keys[key]));
    const auto threads = [&](std::size_t state) {
      return row.ns.at(state) == 0 && state != 0 ? "" : FormatThreads(row.ns.at(state), length_ns);
    };
    const std::uint64_t all = std::accumulate(row.ns.begin(), row.ns.end(), std::uint64_t{0});
    cells.insert(cells.end(), {has(FleetKey::kHost) ? "" : FormatCount(row.hosts),
                               has(FleetKey::kVersion) ? "" : FormatCount(row.versions),
                               FormatThreads(all, length_ns), threads(0), threads(1), threads(2),
                               threads(3), threads(4),
                               Ago(static_cast<double>(table.now_s) -
                                   static_cast<double>(row.last_s) - table.coverage.window_s)});
    out.AddRow(std::move(cells));
  }
  std::string text = options.palette.Paint(Tone::kStrong, SafeText(table.question.Words())) +
                     "   " + FormatDuration(length_ns) + ", " +
                     FormatCount(table.coverage.hosts, "host") + "   in threads on average\n\n" +
                     out.Render(options.width, options.palette);
  if (shown < table.rows.size())
    text +=
        options.palette.Paint(Tone::kFaint, "... and " + FormatCount(table.rows.size() - shown) +
                                                " more; -v shows all") +
        "\n";
  return text;
}

std::string ServicesJson(const ServiceTable& table) {
  using nlohmann::json;
  json rows = json::array();
  constexpr std::array kNames{"running_ns", "spinning_ns", "runnable_ns", "blocked_ns",
                              "stolen_ns"};
  for (const ServiceRow& row : table.rows) {
    json one;
    for (std::size_t i = 0; i < row.keys.size(); ++i)
      one[std::string(EntryOf(table.question.apart[i]).name)] = row.keys[i];
    one["hosts"] = row.hosts;
    one["versions"] = row.versions;
    for (std::size_t i = 0; i < kFleetStates; ++i) one[kNames.at(i)] = row.ns.at(i);
    one["last_window_unix_s"] = row.last_s;
    rows.push_back(std::move(one));
  }
  json incomplete = json::array();
  for (const MissingTime& host : table.coverage.incomplete)
    incomplete.push_back({{"host", host.host}, {"missing_s", host.missing_s}});
  json late = json::array();
  for (const MissingTime& host : table.coverage.late)
    late.push_back({{"host", host.host}, {"late_s", host.missing_s}});
  const json all = {{"format", "profd-fleet-list"},
                    {"version", 1},
                    {"from_unix_s", table.coverage.from_s},
                    {"to_unix_s", table.coverage.to_s},
                    {"hosts", table.coverage.hosts},
                    {"incomplete", incomplete},
                    {"late", late},
                    {"gaps_ns", table.coverage.gaps_ns},
                    {"lost", table.coverage.lost},
                    {"rows", rows}};
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace profd::client
