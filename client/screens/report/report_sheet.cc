#include "client/screens/report/report_sheet.h"

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/text/escape.h"

namespace profd::client {
namespace {

using nlohmann::ordered_json;

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string CsvCell(const ReportSheet::Cell& cell) {
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) return std::to_string(*number);
  return CsvText(std::get<std::string>(cell));
}

ordered_json Number(std::uint64_t number) {
  if (IsJsonNumber(number)) return number;
  return std::to_string(number);
}

ordered_json JsonCell(const ReportSheet::Cell& cell) {
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) return Number(*number);
  return std::get<std::string>(cell);
}

void Append(std::vector<std::string>& to, std::vector<std::string> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<std::string> TimeColumns(const std::string& prefix) {
  std::vector<std::string> columns{prefix + "ns", prefix + "samples"};
  for (std::size_t i = 0; i < kParts; ++i)
    columns.push_back(prefix + std::string(PartName(static_cast<TimePart>(i))) + "_ns");
  return columns;
}

void AddTimeCells(const ReportTime& time, std::vector<ReportSheet::Cell>& cells) {
  const SampledTime all = time.all();
  cells.emplace_back(all.ns);
  cells.emplace_back(all.points);
  for (const SampledTime& part : time.parts) cells.emplace_back(part.ns);
}

std::vector<std::string> CountColumns(const std::string& prefix) {
  return {prefix + "counted_ns", prefix + "cycles", prefix + "instructions",
          prefix + "cache_misses"};
}

void AddCountCells(const Counts& counts, std::vector<ReportSheet::Cell>& cells) {
  for (const std::uint64_t number :
       {counts.counted_ns, counts.cycles, counts.instructions, counts.cache_misses})
    cells.emplace_back(number);
}

ReportSheet SheetOf(const ReportTable& table) {
  ReportSheet sheet;
  sheet.total_ns = table.all.all().ns;
  const bool frames = table.key->OfFrames();
  sheet.columns = {std::string(table.key->name)};
  const bool functions = table.key->name == "function";
  if (functions) sheet.columns.emplace_back("module");
  Append(sheet.columns, TimeColumns(frames ? "self_" : ""));
  if (frames) Append(sheet.columns, TimeColumns("total_"));
  if (table.infers) sheet.columns.emplace_back("with_workers_ns");
  if (table.steps != nullptr) sheet.columns.emplace_back("per_step_ns");
  const bool reaches = table.error.known;
  if (reaches) sheet.columns.emplace_back(frames ? "self_reach_ns" : "reach_ns");
  if (reaches && frames) sheet.columns.emplace_back("total_reach_ns");
  if (table.counted) Append(sheet.columns, CountColumns(frames ? "self_" : ""));
  if (table.counted && frames) Append(sheet.columns, CountColumns("total_"));
  for (const ReportRow& row : table.rows) {
    auto& cells = sheet.rows.emplace_back();
    cells.emplace_back(row.name);
    if (functions) cells.emplace_back(row.module);
    AddTimeCells(row.self, cells);
    if (frames) AddTimeCells(row.total, cells);
    if (table.infers) cells.emplace_back(row.with_workers.ns);
    if (table.steps != nullptr) cells.emplace_back(table.StepNs(row));
    if (reaches) cells.emplace_back(table.ReachNs(row.self_error).value_or(0));
    if (reaches && frames) cells.emplace_back(table.ReachNs(row.total_error).value_or(0));
    if (table.counted) AddCountCells(row.self.counts, cells);
    if (table.counted && frames) AddCountCells(row.total.counts, cells);
  }
  return sheet;
}

ReportSheet SheetOf(const CrossTable& table) {
  ReportSheet sheet;
  sheet.total_ns = table.all.ns;
  sheet.columns = {std::string(table.row_key->name), "ns", "samples"};
  for (const std::string& column : table.columns) sheet.columns.push_back(column + " ns");
  for (const CrossRow& row : table.rows) {
    auto& cells = sheet.rows.emplace_back();
    cells.emplace_back(row.name);
    cells.emplace_back(row.all.ns);
    cells.emplace_back(row.all.points);
    for (const SampledTime& cell : row.cells) cells.emplace_back(cell.ns);
  }
  return sheet;
}

std::string SheetCsv(const ReportSheet& sheet) {
  std::string text;
  const auto add = [&](const auto& cells, const auto& write) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + write(cells[i]);
    text += "\n";
  };
  add(sheet.columns, CsvText);
  for (const auto& row : sheet.rows) add(row, CsvCell);
  return text;
}

std::string SheetJson(const ReportSheet& sheet, const v1::Profile& profile) {
  ordered_json rows = ordered_json::array();
  for (const auto& row : sheet.rows) {
    ordered_json object = ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[sheet.columns[i]] = JsonCell(row[i]);
    rows.push_back(std::move(object));
  }
  const ordered_json report{{"start_unix_ns", Number(profile.start_unix_ns())},
                            {"length_ns", Number(LengthNs(profile))},
                            {"threads", Number(ThreadCount(profile))},
                            {"samples", Number(SampleCount(profile))},
                            {"total_ns", Number(sheet.total_ns)},
                            {"rows", std::move(rows)}};
  return report.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace profd::client
