#include "client/screens/json/screen_json.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

#include "client/profile/on_whom.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/profile/waits/wait_table.h"
#include "client/screens/dump/dump_facts.h"
#include "client/screens/list/group_table.h"
#include "client/screens/symbols/module_rows.h"
#include "client/text/escape.h"
#include "client/text/number.h"
#include "daemon/base/files.h"
#include "profd/v1/dump.pb.h"
#include "profd/v1/profile.pb.h"
#include "profd/v1/status.pb.h"

namespace profd::client {
namespace {

using nlohmann::json;

void LargeNumbersToText(json& value) {
  if (value.is_structured())
    for (json& element : value) LargeNumbersToText(element);
  else if (value.is_number_unsigned()
               ? !IsJsonNumber(value.get<std::uint64_t>())
               : value.is_number_integer() && !IsJsonNumber(value.get<std::int64_t>()))
    value = value.dump();
}

// Bytes that are not UTF-8 are replaced.
std::string Text(json object) {
  LargeNumbersToText(object);
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json Counts(const google::protobuf::RepeatedPtrField<v1::NamedCount>& counts) {
  json list = json::array();
  for (const v1::NamedCount& count : counts)
    list.push_back({{"name", count.name()}, {"text", count.text()}, {"count", count.count()}});
  return list;
}

json PythonJson(const v1::PythonStatus& python) {
  return {{"attached", python.attached()},       {"waiting", Counts(python.waiting())},
          {"refused", Counts(python.refused())}, {"stacks", python.stacks()},
          {"not_merged", python.not_merged()},   {"cut", python.cut()},
          {"names_stale", python.names_stale()}, {"names_unknown", python.names_unknown()}};
}

json MemoryJson(const v1::MemoryStatus& memory) {
  json holders = json::object();
  for (const auto& holder : memory.holders()) holders[holder.name()] = holder.bytes();
  return {{"cap_bytes", memory.cap_bytes()},
          {"used_bytes", memory.used_bytes()},
          {"peak_bytes", memory.peak_bytes()},
          {"reclaim_requested_bytes", memory.reclaim_requested_bytes()},
          {"dropping", memory.dropping()},
          {"holders", holders}};
}

json SamplingJson(const v1::SamplingStatus& budget) {
  return {{"limited", budget.limited()},
          {"budget_cpus", budget.budget_cpus()},
          {"spent_cpus", budget.spent_cpus()},
          {"on_cpu_factor", budget.on_cpu_factor()},
          {"off_cpu_factor", budget.off_cpu_factor()}};
}

json ExportsJson(const v1::StatusResponse& status) {
  json exports = json::array();
  for (const v1::ExportStatus& one : status.exports()) {
    exports.push_back({{"name", one.name()},
                       {"to", one.to()},
                       {"sent", one.sent()},
                       {"sent_bytes", one.sent_bytes()},
                       {"sent_until_unix_ns", one.sent_until_unix_ns()},
                       {"retries", one.retries()},
                       {"spool_profiles", one.spool_profiles()},
                       {"spool_bytes", one.spool_bytes()},
                       {"spool_limit_bytes", one.spool_limit_bytes()},
                       {"gaps_ns", Counts(one.gaps_ns())},
                       {"last_error", one.last_error()}});
  }
  return exports;
}

json BudgetJson(const v1::BudgetStatus& budget) {
  return {{"sessions", SamplingJson(budget.sessions())},
          {"history", SamplingJson(budget.history())},
          {"clock_limit_cpus", budget.clock_limit_cpus()},
          {"clock_cpus", budget.clock_cpus()},
          {"clock_needed_cpus", budget.clock_needed_cpus()},
          {"hooks_refused", budget.hooks_refused()}};
}

json HistoryJson(const v1::HistoryStatus& history) {
  json losses = json::array();
  for (const std::string& loss : history.losses()) losses.push_back(loss);
  return {{"path", history.path()},
          {"bytes", history.bytes()},
          {"limit_bytes", history.limit_bytes()},
          {"limit_ns", history.limit_ns()},
          {"windows", history.windows()},
          {"first_unix_ns", history.first_unix_ns()},
          {"last_unix_ns", history.last_unix_ns()},
          {"failed_puts", history.failed_puts()},
          {"windows_lost", history.windows_lost()},
          {"last_error", history.last_error()},
          {"losses", losses},
          {"on_cpu_period_ns", history.on_cpu_period_ns()},
          {"off_cpu_period_ns", history.off_cpu_period_ns()},
          {"window_ns", history.window_ns()},
          {"observed", history.observed()}};
}

std::string_view KindName(v1::FrameKind kind) {
  switch (kind) {
    case v1::FRAME_KERNEL:
      return "kernel";
    case v1::FRAME_PYTHON:
      return "python";
    case v1::FRAME_JIT:
      return "jit";
    case v1::FRAME_PSEUDO:
      return "pseudo";
    default:
      return "native";
  }
}

json FrameOf(const v1::Frame& frame, FrameStyle style) {
  style.place = false;
  style.suffixes = false;
  json object{{"name", FrameName(frame, style)}, {"kind", KindName(frame.kind())}};
  if (!frame.file().empty()) object["file"] = frame.file();
  if (frame.line() != 0) object["line"] = frame.line();
  if (!frame.module().empty()) {
    object["module"] = frame.module();
    object["offset"] = frame.offset();
  }
  if (frame.inlined()) object["inlined"] = true;
  if (frame.interpreter()) object["interpreter"] = true;
  if (!frame.reason().empty()) object["reason"] = frame.reason();
  return object;
}

json SyscallOf(const v1::DumpThread& thread) {
  json object{{"number", thread.syscall()}, {"arguments", json::array()}};
  if (auto name = SyscallName(thread.syscall()); !name.empty()) object["name"] = std::move(name);
  for (const auto argument : thread.syscall_arg()) object["arguments"].push_back(argument);
  return object;
}

json ThreadOf(const v1::Dump& dump, const v1::DumpThread& thread, const DumpOptions& options) {
  json object{{"tid", thread.tid()},
              {"name", thread.comm()},
              {"state", StateName(thread.state())},
              {"seen_ns", thread.seen_ns()},
              {"python", thread.python()},
              {"gil", thread.gil() == v1::GIL_NONE ? "none" : GilName(thread.gil())}};
  if (thread.state() == v1::STATE_BLOCKED) object["wait"] = WaitName(thread.wait());
  if (IsSpinning(thread.rule().frame_class())) {
    object["spinning"] = true;
    object["rule"] = thread.rule().place();
  }
  if (thread.since_ns() != 0) object["since_ns"] = thread.since_ns();
  if (thread.in_syscall()) object["syscall"] = SyscallOf(thread);
  for (const v1::Label& label : thread.label()) object["labels"][label.name()] = label.value();
  if (thread.owner() != 0)
    object["owner"] = dump.threads(static_cast<int>(thread.owner()) - 1).tid();
  if (thread.merge_failed()) object["merge_failed"] = true;
  if (!thread.no_stack().empty()) object["no_stack"] = thread.no_stack();
  if (thread.stack_ns() != 0) object["stack_ns"] = thread.stack_ns();
  if (IsByFramePointer(thread)) object["by_frame_pointer"] = true;
  json& stack = object["stack"] = json::array();
  const std::size_t certain = CertainFrames(dump, thread, options);
  for (const v1::Frame* frame : ShownFrames(dump, thread, options)) {
    json object_of_frame = FrameOf(*frame, options.style);
    if (stack.size() >= certain) object_of_frame["by_frame_pointer"] = true;
    stack.push_back(std::move(object_of_frame));
  }
  return object;
}

json ProcessOf(const v1::Dump& dump, std::uint32_t index, const DumpOptions& options) {
  const v1::Process& process = dump.processes(static_cast<int>(index));
  const ProcessFacts facts = FactsOf(dump, index);
  json object{{"pid", process.pid()},
              {"comm", process.comm()},
              {"command_line", process.command_line()},
              {"executable", process.executable()},
              {"cgroup", process.cgroup()}};
  if (!process.python().empty()) object["python"] = process.python();
  if (!process.python_refused().empty()) object["python_refused"] = process.python_refused();
  if (facts.has_gil) {
    object["gil_holder"] = facts.holders.empty() ? json() : json(facts.holders.front()->tid());
    object["gil_waiters"] = facts.gil_waiters;
  }
  json& threads = object["threads"] = json::array();
  for (const v1::DumpThread* thread : facts.threads)
    threads.push_back(ThreadOf(dump, *thread, options));
  return object;
}

json RowJson(const ModuleRow& row, const DebugPackages& packages) {
  json unnamed = json::array();
  for (const UnnamedFrame& frame : row.unnamed)
    unnamed.push_back({{"offset", HexNumber(frame.offset)}, {"reason", frame.reason}});
  json refused = json::array();
  for (const v1::NamedCount& reason : row.info.code_refused())
    refused.push_back({{"functions", reason.count()}, {"reason", reason.text()}});
  const auto package = packages.find(row.path);
  return {{"path", row.path},
          {"build_id", row.info.build_id()},
          {"symbols_from", row.info.symbols_from()},
          {"symbols_file", row.info.symbols_file()},
          {"symbols_missing", row.info.symbols_missing()},
          {"debug_file", row.info.debug_file()},
          {"debug_missing", row.info.debug_missing()},
          {"code_covered_bytes", row.info.code_covered_bytes()},
          {"code_bare_bytes", row.info.code_bare_bytes()},
          {"code_refused", refused},
          {"debug_package", package == packages.end() ? "" : package->second},
          {"frames", row.frames},
          {"named", row.named},
          {"with_line", row.with_line},
          {"inlined", row.inlined},
          {"unnamed", unnamed},
          {"stacks_end_early", row.ends}};
}

}  // namespace

std::string StatusJson(const v1::StatusResponse& status) {
  json sessions = json::array();
  for (const v1::SessionStatus& session : status.sessions())
    sessions.push_back({{"id", session.id()},
                        {"target", session.target()},
                        {"elapsed_ns", session.elapsed_ns()},
                        {"duration_ns", session.duration_ns()},
                        {"client", session.client()},
                        {"samples", session.samples()}});
  json missing = json::array();
  for (const v1::MissingCapability& capability : status.missing_capabilities())
    missing.push_back({{"name", capability.name()}, {"cost", capability.cost()}});
  json object{
      {"version", status.version()},
      {"up_ns", status.up_ns()},
      {"kernel", status.kernel()},
      {"hook", status.hook()},
      {"hook_reason", status.hook_reason()},
      {"split", status.split()},
      {"snapshot", status.snapshot()},
      {"hooks_attached", status.hooks_attached()},
      {"observers", status.observers()},
      {"on_cpu_clock", status.on_cpu_clock()},
      {"hardware_counters", status.hardware_counters()},
      {"online_cpus", status.online_cpus()},
      {"switches", status.switches()},
      {"bpf_ns", status.bpf_ns()},
      {"daemon_cpu_ns", status.daemon_cpu_ns()},
      {"memory_bytes", status.memory_bytes()},
      {"map_bytes", status.map_bytes()},
      {"sessions", sessions},
      {"missing_capabilities", missing},
      {"python", PythonJson(status.python())},
      {"budget", BudgetJson(status.budget())},
      {"lost", Counts(status.lost())},
      {"counters", Counts(status.counters())},
      {"replay_file", status.replay_file()},
      {"recording_file", status.recording_file()},
      {"exports", ExportsJson(status)},
      {"container_runtimes", std::vector<std::string>(status.container_runtimes().begin(),
                                                      status.container_runtimes().end())},
      {"degraded", std::vector<std::string>(status.degraded().begin(), status.degraded().end())},
      {"unreadable",
       std::vector<std::string>(status.unreadable().begin(), status.unreadable().end())}};
  if (status.has_memory()) object["memory"] = MemoryJson(status.memory());
  if (status.has_history()) object["history"] = HistoryJson(status.history());
  return Text(object);
}

std::string FindingsJson(const std::vector<Finding>& findings) {
  json checks = json::array();
  for (const Finding& finding : findings)
    checks.push_back({{"check", finding.check},
                      {"verdict", NameOf(finding.verdict)},
                      {"found", finding.found},
                      {"fix", finding.fix}});
  const json object{{"ok", !AnyFailed(findings)}, {"checks", checks}};
  return Text(object);
}

std::string DumpJson(const v1::Dump& dump, const DumpOptions& options) {
  json object{{"format", "profd-dump"},
              {"version", 1},
              {"host", dump.host()},
              {"kernel", dump.kernel()},
              {"profd_version", dump.profd_version()},
              {"time_ns", dump.time_ns()},
              {"time_unix_ns", dump.time_unix_ns()},
              {"took_ns", dump.took_ns()},
              {"threads_left_out", dump.threads_left_out()}};
  json& processes = object["processes"] = json::array();
  for (int i = 0; i < dump.processes_size(); ++i)
    processes.push_back(ProcessOf(dump, static_cast<std::uint32_t>(i), options));
  json& deadlocks = object["deadlocks"] = json::array();
  for (const auto& circle : Deadlocks(dump)) {
    json& tids = deadlocks.emplace_back(json::array());
    for (const v1::DumpThread* thread : circle) tids.push_back(thread->tid());
  }
  return Text(object);
}

std::string GroupsJson(const v1::Profile& profile, GroupKey key) {
  json list = json::array();
  for (const GroupRow& row : GroupRows(profile, key)) {
    json object{{"name", row.name},
                {"processes", row.processes},
                {"threads", row.threads},
                {"elapsed_ns", row.elapsed_ns},
                {"on_cpu_ns", row.on_cpu_ns},
                {"spinning_ns", row.spinning.ns},
                {"runnable_ns", row.runnable_ns},
                {"blocked_ns", row.blocked_ns},
                {"stolen_ns", row.stolen.ns},
                {"stolen_spread_ns", row.stolen.spread_ns}};
    if (row.pid != 0) object["pid"] = row.pid;
    if (key == GroupKey::kProcess || key == GroupKey::kThread) {
      object["user"] = row.user;
      object["unit"] = row.unit;
      object["container"] = row.container;
      object["labels"] = row.labels;
    }
    if (row.tid != 0) object["tid"] = row.tid;
    list.push_back(std::move(object));
  }
  const json object{{"start_unix_ns", profile.start_unix_ns()},
                    {"length_ns", LengthNs(profile)},
                    {"by", NameOf(key)},
                    {"rows", list}};
  return Text(object);
}

std::string WaitsJson(const v1::Profile& profile) {
  const WaitTable table = WaitTable::Of(profile);
  json rows = json::array();
  for (const WaitRow& row : table.rows) {
    const WaitGroup& waiter = table.groups[row.waiter];
    json ends = json::array();
    for (const WaitEnd& end : row.ends)
      ends.push_back({{"at", table.groups[end.group].name},
                      {"thread", table.groups[end.thread].name},
                      {"how", EndName(end.kind)},
                      {"ns", end.cost.ns},
                      {"samples", end.cost.points}});
    rows.push_back({{"waiter", waiter.name},
                    {"waiter_threads", waiter.threads},
                    {"waiter_blocked_ns", waiter.blocked_ns},
                    {"reason", WaitName(row.wait)},
                    {"ended_by", table.groups[row.waker].name},
                    {"ns", row.cost.ns},
                    {"samples", row.cost.points},
                    {"share", ShareOf(row.cost.ns, waiter.blocked_ns)},
                    {"waits", row.waits},
                    {"spurious", row.spurious},
                    {"ends", std::move(ends)}});
  }
  json knots = json::array();
  for (const std::vector<std::uint32_t>& knot : WaitGraph::Of(table).knots) {
    json names = json::array();
    for (const std::uint32_t group : knot) names.push_back(table.groups[group].name);
    knots.push_back(std::move(names));
  }
  return Text({{"start_unix_ns", profile.start_unix_ns()},
               {"length_ns", LengthNs(profile)},
               {"blocked_ns", table.blocked_ns},
               {"rows", std::move(rows)},
               {"knots", std::move(knots)}});
}

std::string SymbolsJson(const v1::Profile& profile, const DebugPackages& packages) {
  const std::vector<ModuleRow> rows = ModuleRows(profile);
  const ModuleSums sums = SumOf(rows);
  const SymbolAdvice advice = AdviceOf(rows, packages);
  json modules = json::array();
  for (const ModuleRow& row : rows) modules.push_back(RowJson(row, packages));
  const json object{{"target", profile.target()},
                    {"start_unix_ns", profile.start_unix_ns()},
                    {"duration_ns", LengthNs(profile)},
                    {"frames", sums.frames},
                    {"named", sums.named},
                    {"modules", modules},
                    {"install_for_names", advice.names},
                    {"install_for_lines", advice.lines}};
  return Text(object);
}

}  // namespace profd::client
