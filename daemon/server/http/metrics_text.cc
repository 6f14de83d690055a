#include "daemon/server/http/metrics_text.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Label = prometheus::ClientMetric::Label;

double Seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// "ns of all threads" -> "Ns of all threads." Some texts are those of `profctl status`, which begin
// with a small letter.
std::string Sentence(std::string_view phrase) {
  std::string text(phrase);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

// Families in the order of their first value.
class Families {
 public:
  void Counter(const std::string& name, std::string_view help, double value,
               std::vector<Label> labels = {}) {
    Add(name, help, MetricType::Counter, std::move(labels)).counter.value = value;
  }
  void Counter(const std::string& name, std::string_view help, std::uint64_t value,
               std::vector<Label> labels = {}) {
    Counter(name, help, static_cast<double>(value), std::move(labels));
  }
  void Gauge(const std::string& name, std::string_view help, double value,
             std::vector<Label> labels = {}) {
    Add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = value;
  }
  void Gauge(const std::string& name, std::string_view help, std::uint64_t value,
             std::vector<Label> labels = {}) {
    Gauge(name, help, static_cast<double>(value), std::move(labels));
  }
  [[nodiscard]] std::string Text() const {
    return prometheus::TextSerializer().prometheus::Serializer::Serialize(families_);
  }

 private:
  prometheus::ClientMetric& Add(const std::string& name, std::string_view help, MetricType type,
                                std::vector<Label> labels) {
    auto found = std::ranges::find(families_, name, &MetricFamily::name);
    if (found == families_.end())
      found = families_.insert(families_.end(), {name, Sentence(help), type, {}});
    auto& metric = found->metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  std::vector<MetricFamily> families_;
};

void AddProcess(const Readings& readings, Families& to) {
  const auto& source = readings.backend.source;
  to.Gauge("profd_build_info", "version of profd, its kernel and hook, as labels; always 1", 1.0,
           {{"version", PROFD_VERSION},
            {"kernel", source.levels.kernel_release},
            {"hook", source.levels.hook},
            {"split", source.levels.split}});
  to.Gauge("process_start_time_seconds", "start time of profd, in seconds since 1970",
           Seconds(readings.start_unix_ns));
  to.Counter("process_cpu_seconds_total", "CPU time of profd, user and kernel",
             Seconds(readings.cpu_ns));
  to.Gauge("process_resident_memory_bytes", "resident memory of profd", readings.resident_bytes);
  constexpr const char* kThreads =
      "CPU time of profd by thread; other: all threads that profd does not name";
  std::uint64_t named_ns = 0;
  for (const auto& [name, cpu_ns] : readings.thread_cpu_ns) {
    if (!name.starts_with("profd-")) continue;
    named_ns += cpu_ns;
    to.Counter("profd_thread_cpu_seconds_total", kThreads, Seconds(cpu_ns), {{"thread", name}});
  }
  // Threads of gRPC start and end all the time, so their sum is what is left of the process. A
  // counter for each of them would go back.
  to.Counter("profd_thread_cpu_seconds_total", kThreads,
             Seconds(readings.cpu_ns - std::min(readings.cpu_ns, named_ns)), {{"thread", "other"}});
  to.Counter("profd_bpf_seconds_total", "estimated time in profd's BPF programs",
             Seconds(source.bpf_cost_ns));
  to.Gauge("profd_bpf_map_bytes", "kernel memory of maps and rings", source.map_bytes);
  to.Gauge("profd_online_cpus", "CPUs of the host that are online",
           static_cast<std::uint64_t>(source.online_cpus));
  to.Gauge("profd_missing_capabilities", "capabilities that profd lacks; see profctl status",
           static_cast<std::uint64_t>(source.levels.missing_capabilities.size()));
  to.Gauge("profd_progress_age_seconds",
           "how long the slowest thread has worked on its present round",
           Seconds(readings.progress_age_ns));
}

// Makes a metric of each counter. Times become seconds, the base unit of Prometheus.
void AddCounters(const std::vector<NamedCount>& counts, Families& to) {
  for (const auto& count : counts) {
    if (count.name == "cost_ns") continue;  // profd_bpf_seconds_total
    if (count.name == "stacks_ns")
      to.Counter("profd_bpf_stacks_seconds_total", "time in profd's BPF programs spent on samples",
                 Seconds(count.count));
    else if (count.name == "background_stacks_ns")
      to.Counter("profd_bpf_background_stacks_seconds_total",
                 "time in profd's BPF programs spent on samples of the history",
                 Seconds(count.count));
    else if (count.name == "names_ns")
      to.Counter("profd_names_seconds_total", "CPU time spent on symbolization",
                 Seconds(count.count));
    else if (count.name == "stolen_ns")
      to.Counter("profd_stolen_seconds_total",
                 "time that interrupts and the hypervisor took from CPUs", Seconds(count.count));
    else
      to.Counter("profd_" + count.name + "_total", count.text, count.count);
  }
}

void AddStages(const pipeline::BackendStatus& backend, Families& to) {
  for (const auto& count : backend.by_kind.lost)
    to.Counter("profd_lost_total", "data that the kernel could not deliver, by reason", count.count,
               {{"reason", count.name}});
  for (const auto& count : backend.by_kind.dropped)
    to.Counter("profd_dropped_total", "data that profd dropped, by reason", count.count,
               {{"reason", count.name}});
  AddCounters(backend.by_kind.counters, to);
  for (const auto& level : backend.gauges) {
    const bool bytes = level.name == "unwind_memory" || level.name == "unwind_cap" ||
                       level.name.starts_with("heap_");
    to.Gauge("profd_" + level.name + (bytes ? "_bytes" : ""), level.text, level.count);
  }
}

std::uint64_t Sum(const std::vector<NamedCount>& counts) {
  std::uint64_t sum = 0;
  for (const auto& count : counts) sum += count.count;
  return sum;
}

void AddPython(const python::PythonReport& python, Families& to) {
  constexpr const char* kName = "profd_python_processes";
  constexpr const char* kHelp = "processes with a Python interpreter, by its state";
  to.Gauge(kName, kHelp, python.attached, {{"state", "attached"}});
  to.Gauge(kName, kHelp, Sum(python.waiting), {{"state", "waiting"}});
  to.Gauge(kName, kHelp, Sum(python.refused), {{"state", "refused"}});
  to.Counter("profd_python_stacks_total", "stacks with Python frames", python.stacks);
  to.Counter("profd_python_stacks_not_merged_total",
             "stacks whose Python frames could not be merged with the native ones",
             python.not_merged);
  to.Counter("profd_python_stacks_cut_total",
             "stacks whose Python part is cut: too deep, or unreadable memory", python.cut);
  to.Counter("profd_python_names_stale_total",
             "Python frames whose code was freed before it was read", python.names_stale);
  to.Counter("profd_python_names_unknown_total", "Python frames whose code was never reported",
             python.names_unknown);
}

// `of`: "sessions" (threads of requested sessions) or "history" (all other threads).
void AddSampling(const budget::SamplingStatus& status, const char* of, Families& to) {
  to.Gauge("profd_budget_limited", "1 while sampling has a budget",
           status.budget.limited ? 1.0 : 0.0, {{"of", of}});
  to.Gauge("profd_budget_cpus", "budget of sampling, in CPUs", status.budget.cpus, {{"of", of}});
  to.Gauge("profd_budget_spent_cpus", "recent cost of sampling, in CPUs", status.spent_cpus,
           {{"of", of}});
  constexpr const char* kFactor =
      "factor by which the budget makes periods longer than requested; 1: not at all";
  constexpr const char* kFactors = "profd_budget_period_factor";
  to.Gauge(kFactors, kFactor, status.factors.on_cpu, {{"of", of}, {"period", "on_cpu"}});
  to.Gauge(kFactors, kFactor, status.factors.off_cpu, {{"of", of}, {"period", "off_cpu"}});
  constexpr const char* kChange = "changes of that factor";
  constexpr const char* kChanges = "profd_budget_period_changes_total";
  to.Counter(kChanges, kChange, status.on_cpu_changes, {{"of", of}, {"period", "on_cpu"}});
  to.Counter(kChanges, kChange, status.off_cpu_changes, {{"of", of}, {"period", "off_cpu"}});
}

void AddBudget(const Readings& readings, Families& to) {
  const auto& budget = readings.backend.budget;
  to.Gauge("profd_sessions", "running sessions of clients",
           static_cast<std::uint64_t>(readings.sessions));
  to.Counter("profd_refusals_total", "calls and connections refused", readings.refusals);
  AddSampling(budget.sampling.background, "history", to);
  AddSampling(budget.sampling.requested, "sessions", to);
  to.Gauge("profd_clock_limit_cpus", "limit for the cost of thread clocks, in CPUs; 0: none",
           budget.clock.limit_cpus);
  to.Gauge("profd_clock_spent_cpus", "recent cost of thread clocks, in CPUs",
           budget.clock.spent_cpus);
  to.Gauge("profd_clock_needed_cpus", "cost of exact thread clocks, also if none is kept, in CPUs",
           budget.clock.needed_cpus);
  to.Gauge("profd_clock_hooks_refused",
           "1 while sessions begin in snapshot mode: clocks cost too much",
           budget.clock.hooks_refused ? 1.0 : 0.0);
}

void AddMemory(const budget::MemoryStatus& memory, Families& to) {
  to.Gauge("profd_memory_cap_bytes", "limit for the memory of profd, with its BPF maps",
           memory.cap_bytes);
  to.Gauge("profd_memory_used_bytes", "memory of profd, with its BPF maps", memory.used_bytes);
  to.Gauge("profd_memory_peak_bytes", "highest value of profd_memory_used_bytes",
           memory.peak_bytes);
  to.Counter("profd_memory_reclaim_requested_bytes_total",
             "memory that caches were requested to release", memory.reclaim_requested_bytes);
  to.Gauge("profd_memory_dropping", "1 while samples are dropped to stay below the cap",
           memory.dropping ? 1.0 : 0.0);
  for (const auto& holder : memory.holders)
    to.Gauge("profd_memory_held_bytes", "memory of each part that counts it", holder.bytes,
             {{"holder", holder.name}});
}

void AddHistory(const history::HistoryStatus& history, Families& to) {
  const auto& store = history.store;
  to.Gauge("profd_history_bytes", "size of all files of the history", store.bytes);
  to.Gauge("profd_history_limit_bytes", "limit for the size of the history", store.limit_bytes);
  to.Gauge("profd_history_limit_seconds", "limit for the age of windows", Seconds(store.limit_ns));
  to.Gauge("profd_history_windows", "windows in the history", store.windows);
  to.Gauge("profd_history_first_timestamp_seconds", "begin of the first window, since 1970",
           Seconds(store.first_unix_ns));
  to.Gauge("profd_history_last_timestamp_seconds", "end of the last window, since 1970",
           Seconds(store.last_unix_ns));
  to.Counter("profd_history_puts_total", "windows given to the store", store.puts);
  to.Counter("profd_history_failed_puts_total", "windows that the store could not keep",
             store.failed_puts);
  to.Gauge("profd_history_largest_put_bytes",
           "most bytes written for one window; the history may exceed its limit by that",
           store.largest_put_bytes);
  to.Counter("profd_history_windows_lost_total", "windows that did not reach the store",
             history.windows_lost);
  to.Counter("profd_history_damages_total",
             "times that the store was damaged; the log says what was lost",
             static_cast<std::uint64_t>(store.losses.size()));
  to.Gauge("profd_history_window_seconds", "length of a window", Seconds(history.window_ns));
  constexpr const char* kPeriod =
      "mean time between samples of a thread, without the budget; 0: no samples";
  to.Gauge("profd_history_period_seconds", kPeriod, Seconds(history.on_cpu_period_ns),
           {{"period", "on_cpu"}});
  to.Gauge("profd_history_period_seconds", kPeriod, Seconds(history.off_cpu_period_ns),
           {{"period", "off_cpu"}});
  if (history.worst_closure_error)
    to.Gauge(
        "profd_history_closure_error_ratio",
        "difference between the sum of a thread's states and elapsed time, relative to elapsed "
        "time; worst thread of the last window, without its sign",
        *history.worst_closure_error);
  if (history.sum_closure_error)
    to.Gauge("profd_history_sum_closure_error_ratio",
             "the same for the sum of all threads of the last window, with its sign",
             *history.sum_closure_error);
}

void AddExports(const std::vector<fleet::ExportStatus>& exports, Families& to) {
  for (const fleet::ExportStatus& one : exports) {
    const std::vector<Label> name{{"export", one.name}};
    to.Counter("profd_export_sent_total", "requests that the receiver of an export has taken",
               one.sent, name);
    to.Counter("profd_export_sent_bytes_total", "their size", one.sent_bytes, name);
    to.Counter("profd_export_retries_total", "requests that have to be sent again", one.retries,
               name);
    to.Gauge("profd_export_sent_until_timestamp_seconds",
             "end of the last window of the history that was sent, since 1970",
             Seconds(one.sent_until_unix_ns), name);
    to.Gauge("profd_export_spool_entries", "requests that wait to be sent", one.spool_entries,
             name);
    to.Gauge("profd_export_spool_bytes", "size of what waits to be sent", one.spool_bytes, name);
    to.Gauge("profd_export_spool_limit_bytes", "limit for the size of what waits to be sent",
             one.spool_limit_bytes, name);
    to.Gauge("profd_export_failing", "1 while the last try of an export has failed",
             one.last_error.empty() ? 0.0 : 1.0, name);
    for (const auto& [cause, ns] : one.gaps)
      to.Counter("profd_export_gap_seconds_total",
                 "time of the history that the receiver will never have, by cause", Seconds(ns),
                 {{"export", one.name}, {"cause", cause}});
  }
}

}  // namespace

std::string MetricsText(const Readings& readings) {
  Families families;
  AddProcess(readings, families);
  AddStages(readings.backend, families);
  AddPython(readings.backend.python, families);
  AddBudget(readings, families);
  if (readings.backend.memory) AddMemory(*readings.backend.memory, families);
  if (readings.history) AddHistory(*readings.history, families);
  AddExports(readings.backend.exports, families);
  return families.Text();
}

}  // namespace profd::server
