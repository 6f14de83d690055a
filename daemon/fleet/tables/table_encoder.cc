#include "daemon/fleet/tables/table_encoder.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "daemon/base/http/content_encoding.h"
#include "daemon/base/http/http_client.h"
#include "daemon/base/utf8.h"
#include "daemon/fleet/tables/fleet_paths.h"
#include "daemon/fleet/tables/fleet_rows.h"
#include "daemon/fleet/tables/fleet_stacks.h"
#include "daemon/fleet/tables/row_binary.h"
#include "daemon/fleet/tables/sections.h"
#include "daemon/process/wait_reason.h"

namespace profd::fleet {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// Of the enum in tables.sql.
std::int8_t StateNumber(Part part) { return static_cast<std::int8_t>(static_cast<int>(part) + 1); }

// Collects rows of one table, and packs them when they are many.
class TableWriter {
 public:
  TableWriter(FleetTable table, const TableLimits& limits, bool has_paths, std::string& payload)
      : table_(table), limits_(limits), has_paths_(has_paths), payload_(payload) {}

  // Where the next row goes. EndRow follows.
  RowBinary& row() { return row_; }
  void EndRow() {
    if (!body_.empty() && body_.size() + row_.bytes().size() > limits_.body_bytes) Flush();
    body_ += row_.bytes();
    row_.Clear();
  }
  void Flush() {
    if (body_.empty()) return;
    const std::string packed = Packed(body_, limits_.encoding);
    PackSection({.table = table_,
                 .part = part_++,
                 .encoding = limits_.encoding,
                 .body = packed,
                 .has_paths = has_paths_},
                payload_);
    body_.clear();
  }

 private:
  const FleetTable table_;
  const TableLimits& limits_;
  const bool has_paths_;
  std::string& payload_;
  RowBinary row_;
  std::string body_;
  std::uint32_t part_ = 0;
};

class Encoder {
 public:
  Encoder(const ExportProfile& profile, const TableLimits& limits)
      : profile_(profile),
        limits_(limits),
        time_(profile.start_unix_ns / kSecondNs),
        stacks_(profile),
        paths_(profile, stacks_),
        rows_(MakeFleetRows(profile, limits.rows, stacks_, paths_)),
        has_paths_(std::ranges::any_of(
            rows_.samples, [](const FleetSample& sample) { return sample.path != 0; })) {}

  std::string Encode(SentStacks& sent) && {
    AddStacks(sent);
    AddPaths(sent);
    AddSamples();
    AddClocks();
    AddWindow();
    sent.GoWith(payload_);
    return std::move(payload_);
  }

 private:
  TableWriter Writer(FleetTable table) { return TableWriter(table, limits_, has_paths_, payload_); }

  void AddStacks(SentStacks& sent) {
    TableWriter to = Writer(FleetTable::kStack);
    for (const FleetSample& sample : rows_.samples) {
      const std::string& service = rows_.columns[sample.columns].service;
      AddStack(service, stacks_.all()[sample.stack], sent, to);
      // What the threads on its path do is found under the service of the row.
      if (sample.path == 0) continue;
      for (const std::uint32_t stack : paths_.all()[sample.path - 1].stacks)
        AddStack(service, stacks_.all()[stack], sent, to);
    }
    to.Flush();
  }

  void AddStack(const std::string& service, const FleetStack& stack, SentStacks& sent,
                TableWriter& to) {
    if (!sent.Take(service, stack.hash, profile_.start_unix_ns)) return;
    RowBinary& row = to.row();
    row.Text(service);
    row.UInt64(stack.hash);
    row.UInt32(time_);
    for (const auto text : {&FleetFrame::function, &FleetFrame::module, &FleetFrame::file}) {
      row.Length(stack.frames.size());
      for (const std::uint32_t number : stack.frames) row.Text(stacks_.frames()[number].*text);
    }
    row.Length(stack.frames.size());
    for (const std::uint32_t number : stack.frames)
      row.Int8(static_cast<std::int8_t>(stacks_.frames()[number].kind));
    to.EndRow();
  }

  void AddPaths(SentStacks& sent) {
    if (!has_paths_) return;
    TableWriter to = Writer(FleetTable::kPath);
    for (const FleetSample& sample : rows_.samples) {
      if (sample.path == 0) continue;
      const std::string& service = rows_.columns[sample.columns].service;
      const FleetPath& path = paths_.all()[sample.path - 1];
      if (!sent.Take(service, path.hash, profile_.start_unix_ns)) continue;
      RowBinary& row = to.row();
      row.Text(service);
      row.UInt64(path.hash);
      row.UInt32(time_);
      const auto column = [&](auto add) {
        row.Length(path.steps.size());
        for (const FleetStep& step : path.steps) add(step);
      };
      column([&](const FleetStep& step) { row.Int8(static_cast<std::int8_t>(step.kind)); });
      column([&](const FleetStep& step) { row.Int8(static_cast<std::int8_t>(step.how)); });
      column([&](const FleetStep& step) { row.Text(process::WaitReasonName(step.wait)); });
      column([&](const FleetStep& step) { row.Text(step.thread); });
      column([&](const FleetStep& step) { row.Text(step.service); });
      column([&](const FleetStep& step) { row.Int8(step.own ? 1 : 0); });
      column([&](const FleetStep& step) { row.UInt64(step.stack); });
      row.Int8(path.estimated ? 1 : 0);
      to.EndRow();
    }
    to.Flush();
  }

  void AddSamples() {
    TableWriter to = Writer(FleetTable::kSample);
    for (const FleetSample& sample : rows_.samples) {
      const LabelColumns& columns = rows_.columns[sample.columns];
      RowBinary& row = to.row();
      row.Text(columns.service);
      row.UInt32(time_);
      row.UInt64(stacks_.all()[sample.stack].hash);
      if (has_paths_) row.UInt64(sample.path == 0 ? 0 : paths_.all()[sample.path - 1].hash);
      row.Int8(StateNumber(sample.part));
      row.Text(process::WaitReasonName(sample.wait));
      for (const std::string* text :
           {&profile_.host, &columns.version, &columns.zone, &columns.name_space, &columns.pod,
            &columns.container, &columns.unit, &columns.executable, &rows_.threads[sample.thread]})
        row.Text(*text);
      row.Map(columns.labels);
      row.UInt64(sample.ns);
      row.UInt32(sample.count);
      to.EndRow();
    }
    to.Flush();
  }

  void AddClocks() {
    TableWriter to = Writer(FleetTable::kClock);
    for (const FleetClock& clock : rows_.clocks) {
      RowBinary& row = to.row();
      row.Text(clock.service);
      row.UInt32(time_);
      for (const std::string* text :
           {&profile_.host, &clock.version, &clock.zone, &clock.name_space, &clock.pod})
        row.Text(*text);
      row.Int8(StateNumber(clock.part));
      row.Text(process::WaitReasonName(clock.wait));
      row.UInt64(clock.ns);
      to.EndRow();
    }
    to.Flush();
  }

  void AddWindow() {
    std::map<std::string, std::uint64_t> lost;
    for (const NamedCount& one : profile_.lost) lost[ValidUtf8(one.name)] += one.count;
    TableWriter to = Writer(FleetTable::kHostWindow);
    RowBinary& row = to.row();
    row.Text(profile_.host);
    row.UInt32(time_);
    row.UInt32(profile_.start_unix_ns % kSecondNs);
    row.Float64(static_cast<double>(profile_.duration_ns) / static_cast<double>(kSecondNs));
    row.Text(rows_.zone);
    row.Text(profile_.profd_version);
    row.UInt32(rows_.samples.size());
    row.UInt64(rows_.other_ns);
    row.Map(profile_.gaps);
    row.Map(lost);
    to.EndRow();
    to.Flush();
  }

  const ExportProfile& profile_;
  const TableLimits& limits_;
  const std::uint64_t time_;
  FleetStacks stacks_;
  FleetPaths paths_;
  const FleetRows rows_;
  const bool has_paths_;
  std::string payload_;
};

}  // namespace

std::string EncodeTables(const ExportProfile& profile, const TableLimits& limits,
                         SentStacks& sent) {
  return Encoder(profile, limits).Encode(sent);
}

}  // namespace profd::fleet
