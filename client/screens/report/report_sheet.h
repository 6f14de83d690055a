// ReportSheet: a report for programs: columns and rows, as CSV or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "client/profile/report/report_table.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Made by a report, written at once.
struct ReportSheet {
  using Cell = std::variant<std::string, std::uint64_t>;

  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  // a cell a column
  std::uint64_t total_ns = 0;           // all time that the report is of
};

// Columns that a sheet has for a sum of samples: "ns", "samples", "working_ns" ... of `prefix`.
[[nodiscard]] std::vector<std::string> TimeColumns(const std::string& prefix);
void AddTimeCells(const ReportTime& time, std::vector<ReportSheet::Cell>& cells);
// The same of what hardware counters have counted: "cycles", ...
[[nodiscard]] std::vector<std::string> CountColumns(const std::string& prefix);
void AddCountCells(const Counts& counts, std::vector<ReportSheet::Cell>& cells);

// All rows, as they are sorted. Where it is known, "reach_ns" is how far the 95 % interval of a sum
// reaches.
[[nodiscard]] ReportSheet SheetOf(const ReportTable& table);
// A column of ns for each of the table's.
[[nodiscard]] ReportSheet SheetOf(const CrossTable& table);

// With a line of the columns' names. RFC 4180, but lines end with a newline alone.
[[nodiscard]] std::string SheetCsv(const ReportSheet& sheet);
// {"start_unix_ns", "length_ns", "threads", "samples", "total_ns", "rows": [{column: cell}]}, with
// numbers as in files of collect.
[[nodiscard]] std::string SheetJson(const ReportSheet& sheet, const v1::Profile& profile);

}  // namespace profd::client
