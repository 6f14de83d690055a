#include "client/screens/threads/thread_sheet.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/profile/threads/concurrency.h"
#include "client/profile/threads/thread_advice.h"
#include "client/profile/threads/thread_use.h"
#include "client/profile/wait_reasons.h"
#include "client/screens/report/report_sheet.h"
#include "client/text/escape.h"

namespace profd::client {
namespace {

using nlohmann::ordered_json;

ordered_json Number(std::uint64_t number) {
  if (IsJsonNumber(number)) return number;
  return std::to_string(number);
}

std::string_view LimitName(UsableCpus::By by) {
  switch (by) {
    case UsableCpus::By::kHost:
      return "host";
    case UsableCpus::By::kAffinity:
      return "affinity";
    case UsableCpus::By::kQuota:
      return "quota";
    default:
      return "";
  }
}

std::uint64_t BlockedNs(const ThreadUse& use, v1::WaitReason reason) {
  const auto blocked = std::ranges::find(use.waits, reason, &BlockedTime::reason);
  return blocked == use.waits.end() ? 0 : blocked->time.ns;
}

// "0 1 56".
std::string CpuText(const std::vector<std::uint32_t>& cpus) {
  std::string text;
  for (const std::uint32_t cpu : cpus) text += (text.empty() ? "" : " ") + std::to_string(cpu);
  return text;
}

// Where threads ran; what is not known is an empty cell, and absent in json.
constexpr std::array kPlacementColumns{"core_migrations", "cache_migrations",     "node_migrations",
                                       "sibling_samples", "sibling_busy_samples", "node_ns"};

void AddPlacement(const Placement& placement, std::vector<ReportSheet::Cell>& row) {
  const auto add = [&](bool known, std::uint64_t number) {
    row.push_back(known ? ReportSheet::Cell(number) : ReportSheet::Cell(std::string()));
  };
  const auto& moves = placement.moves;
  add(moves.has_value(), moves ? moves->core : 0);
  add(moves.has_value(), moves ? moves->cache : 0);
  add(moves.has_value(), moves ? moves->node : 0);
  add(placement.sibling_points != 0, placement.sibling_points);
  add(placement.sibling_points != 0, placement.busy_points);
  std::string nodes;
  for (const auto& [node, ns] : placement.nodes)
    nodes += (nodes.empty() ? "" : " ") + std::to_string(node) + ":" + std::to_string(ns);
  row.emplace_back(std::move(nodes));
}

ReportSheet SheetOf(const v1::Profile& profile, const std::vector<ThreadUse>& threads) {
  ReportSheet sheet;
  sheet.columns = {"pid", "process", "tid", "thread", "threads", "elapsed_ns"};
  for (std::size_t i = 0; i < kParts; ++i)
    sheet.columns.push_back(std::string(PartName(static_cast<TimePart>(i))) + "_ns");
  sheet.columns.insert(
      sheet.columns.end(),
      {"runnable_woken_ns", "runnable_preempted_ns", "voluntary_switches", "involuntary_switches",
       "migrations", "cpus", "spinning_serial_ns", "spinning_imbalance_ns"});
  sheet.columns.insert(sheet.columns.end(), kPlacementColumns.begin(), kPlacementColumns.end());
  for (const WaitReasonEntry& entry : WaitReasons())
    if (!entry.name().empty())
      sheet.columns.push_back("blocked_" + std::string(entry.name()) + "_ns");
  const bool counted = HasCounts(profile);
  if (counted)
    for (std::string& column : CountColumns("")) sheet.columns.push_back(std::move(column));
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return threads[i].wanted_ns(); });
  for (const std::size_t i : order) {
    const ThreadUse& use = threads[i];
    const v1::Thread& thread = profile.threads(static_cast<int>(i));
    const v1::Process& process = profile.processes(static_cast<int>(thread.process()));
    auto& row = sheet.rows.emplace_back();
    row.emplace_back(std::uint64_t{process.pid()});
    row.emplace_back(SafeName(process.comm()));
    row.emplace_back(std::uint64_t{thread.tid()});
    row.emplace_back(SafeName(thread.comm()));
    row.emplace_back(std::uint64_t{use.threads});
    row.emplace_back(use.elapsed_ns);
    for (const SampledTime& part : use.time.parts) row.emplace_back(part.ns);
    for (const std::uint64_t number :
         {use.woken_ns, use.preempted_ns, use.voluntary, use.involuntary, use.migrations})
      row.emplace_back(number);
    row.emplace_back(CpuText(use.cpus));
    row.emplace_back(use.spin.serial_ns);
    row.emplace_back(use.spin.imbalance_ns);
    AddPlacement(use.placement, row);
    for (const WaitReasonEntry& entry : WaitReasons())
      if (!entry.name().empty()) row.emplace_back(BlockedNs(use, entry.reason));
    if (counted) AddCountCells(use.counts, row);
  }
  return sheet;
}

ordered_json RowsOf(const ReportSheet& sheet) {
  ordered_json rows = ordered_json::array();
  for (const auto& row : sheet.rows) {
    ordered_json object = ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* number = std::get_if<std::uint64_t>(&row[i]);
      const bool known = number != nullptr || !std::get<std::string>(row[i]).empty();
      if (!known &&
          std::ranges::find(kPlacementColumns, sheet.columns[i]) != kPlacementColumns.end())
        continue;
      object[sheet.columns[i]] =
          number != nullptr ? Number(*number) : ordered_json(std::get<std::string>(row[i]));
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

ordered_json ProcessOf(const v1::Profile& profile, const v1::Process& process,
                       const ThreadUse& use) {
  ordered_json object{
      {"pid", process.pid()}, {"process", SafeName(process.comm())}, {"threads", use.threads}};
  for (std::size_t i = 0; i < kParts; ++i)
    object[std::string(PartName(static_cast<TimePart>(i))) + "_ns"] =
        Number(use.time.parts.at(i).ns);
  object["spinning_serial_ns"] = Number(use.spin.serial_ns);
  object["spinning_imbalance_ns"] = Number(use.spin.imbalance_ns);
  const UsableCpus usable = UsableBy(profile, process);
  if (usable.by != UsableCpus::By::kUnknown) {
    object["usable_cpus"] = usable.cpus;
    object["usable_by"] = LimitName(usable.by);
    object["effective_use"] = EffectiveUse(use, usable, LengthNs(profile));
  }
  if (process.cpu_limits().quota_cpus() > 0) {
    object["quota_cpus"] = process.cpu_limits().quota_cpus();
    object["quota_periods"] = Number(process.cpu_limits().quota_periods());
    object["throttled_periods"] = Number(process.cpu_limits().throttled_periods());
    object["throttled_ns"] = Number(process.cpu_limits().throttled_ns());
  }
  if (!process.has_concurrency()) return object;
  object["points"] = Number(PointsOf(process.concurrency()));
  object["unknown_points"] = Number(process.concurrency().unknown_points());
  ordered_json levels = ordered_json::array();
  for (const v1::Concurrency::Level& level : process.concurrency().levels())
    levels.push_back({{"threads", level.threads()},
                      {"running", Number(level.running())},
                      {"wanting", Number(level.wanting())}});
  object["at_once"] = std::move(levels);
  return object;
}

}  // namespace

std::string ThreadsCsv(const v1::Profile& profile) {
  return SheetCsv(SheetOf(profile, UseOfThreads(profile)));
}

std::string ThreadsJson(const v1::Profile& profile) {
  const std::vector<ThreadUse> threads = UseOfThreads(profile);
  const std::vector<ThreadUse> processes = UseOfProcesses(profile, threads);
  ordered_json by_process = ordered_json::array();
  for (std::size_t i = 0; i < processes.size(); ++i)
    by_process.push_back(ProcessOf(profile, profile.processes(static_cast<int>(i)), processes[i]));
  ordered_json advice = ordered_json::array();
  for (const ThreadAdvice& one : AdviceOf(profile, threads))
    advice.push_back({{"kind", AdviceName(one.kind)},
                      {"pid", profile.processes(static_cast<int>(one.process)).pid()},
                      {"value", one.value},
                      {"low", one.interval.low},
                      {"high", one.interval.high},
                      {"text", one.text}});
  ordered_json report{{"start_unix_ns", Number(profile.start_unix_ns())},
                      {"length_ns", Number(LengthNs(profile))},
                      {"samples", Number(SampleCount(profile))},
                      {"cpus", profile.cpus()},
                      {"processes", std::move(by_process)},
                      {"threads", RowsOf(SheetOf(profile, threads))},
                      {"advice", std::move(advice)}};
  if (!profile.hardware_counters().missing().empty())
    report["no_hardware_counters"] = profile.hardware_counters().missing();
  return report.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace profd::client
