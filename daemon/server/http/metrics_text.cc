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

// "(it) does this" -> "Does this."
std::string Sentence(std::string_view words) {
  std::string text(words);
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
  to.Gauge("profd_build_info", "version of profd, kernel, and how it works there; always 1", 1.0,
           {{"version", PROFD_VERSION},
            {"kernel", source.kernel_release},
            {"hook", source.hook},
            {"split", source.split}});
  to.Gauge("process_start_time_seconds", "when profd began, in seconds since 1970",
           Seconds(readings.start_unix_ns));
  to.Counter("process_cpu_seconds_total", "CPU time of profd, user and kernel",
             Seconds(readings.cpu_ns));
  to.Gauge("process_resident_memory_bytes", "resident memory of profd", readings.resident_bytes);
  constexpr const char* kThreads =
      "CPU time of profd by thread; other: of all without a name of ours";
  std::uint64_t named_ns = 0;
  for (const auto& [name, cpu_ns] : readings.thread_cpu_ns) {
    if (!name.starts_with("profd-")) continue;
    named_ns += cpu_ns;
    to.Counter("profd_thread_cpu_seconds_total", kThreads, Seconds(cpu_ns), {{"thread", name}});
  }
  // gRPC's come and go.
  to.Counter("profd_thread_cpu_seconds_total", kThreads,
             Seconds(readings.cpu_ns - std::min(readings.cpu_ns, named_ns)), {{"thread", "other"}});
  to.Counter("profd_bpf_seconds_total", "estimated time in profd's BPF programs",
             Seconds(source.bpf_cost_ns));
  to.Gauge("profd_bpf_map_bytes", "kernel memory of maps and rings", source.map_bytes);
  to.Gauge("profd_online_cpus", "CPUs of the host that are online",
           static_cast<std::uint64_t>(source.online_cpus));
  to.Gauge("profd_missing_capabilities", "rights that profd has not; profctl status names them",
           static_cast<std::uint64_t>(source.missing_capabilities.size()));
  to.Gauge("profd_progress_age_seconds", "time since every stage of the pipeline has made a round",
           Seconds(readings.progress_age_ns));
}

// One metric for each; times as such.
void AddCounters(const std::vector<NamedCount>& counts, Families& to) {
  for (const auto& count : counts) {
    if (count.name == "cost_ns") continue;  // profd_bpf_seconds_total
    if (count.name == "stacks_ns")
      to.Counter("profd_bpf_stacks_seconds_total",
                 "of the time in profd's BPF programs, that for samples", Seconds(count.count));
    else if (count.name == "background_stacks_ns")
      to.Counter("profd_bpf_background_stacks_seconds_total",
                 "of that, for threads that no client has requested", Seconds(count.count));
    else if (count.name == "names_ns")
      to.Counter("profd_names_seconds_total", "CPU time spent on finding names",
                 Seconds(count.count));
    else
      to.Counter("profd_" + count.name + "_total", count.text, count.count);
  }
}

void AddStages(const pipeline::BackendStatus& backend, Families& to) {
  for (const auto& count : backend.by_kind.lost)
    to.Counter("profd_lost_total", "what the kernel could not hand over, by reason", count.count,
               {{"reason", count.name}});
  for (const auto& count : backend.by_kind.dropped)
    to.Counter("profd_dropped_total", "what profd gave up, by reason", count.count,
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
  constexpr const char* kHelp = "processes with a Python interpreter, by what is known of it";
  to.Gauge(kName, kHelp, python.attached, {{"state", "attached"}});
  to.Gauge(kName, kHelp, Sum(python.waiting), {{"state", "waiting"}});
  to.Gauge(kName, kHelp, Sum(python.refused), {{"state", "refused"}});
  to.Counter("profd_python_stacks_total", "stacks with Python frames", python.stacks);
  to.Counter("profd_python_stacks_not_merged_total",
             "of those, whose Python frames found no place among the native ones",
             python.not_merged);
  to.Counter("profd_python_stacks_cut_total", "of those, cut: too deep, or memory not read",
             python.cut);
  to.Counter("profd_python_names_stale_total", "Python frames whose code had gone when it was read",
             python.names_stale);
  to.Counter("profd_python_names_unknown_total", "Python frames whose code nobody told of",
             python.names_unknown);
}

// `of`: threads that clients' sessions look at, or those that only the history does.
void AddSampling(const budget::SamplingStatus& status, const char* of, Families& to) {
  to.Gauge("profd_budget_limited", "1 while a budget holds for sampling",
           status.budget.limited ? 1.0 : 0.0, {{"of", of}});
  to.Gauge("profd_budget_cpus", "what sampling may cost, in CPUs", status.budget.cpus,
           {{"of", of}});
  to.Gauge("profd_budget_spent_cpus", "what sampling has cost recently, in CPUs", status.spent_cpus,
           {{"of", of}});
  constexpr const char* kFactor =
      "by how much the governor makes periods longer than was requested; 1: not at all";
  constexpr const char* kFactors = "profd_budget_period_factor";
  to.Gauge(kFactors, kFactor, status.factors.on_cpu, {{"of", of}, {"period", "on_cpu"}});
  to.Gauge(kFactors, kFactor, status.factors.off_cpu, {{"of", of}, {"period", "off_cpu"}});
  constexpr const char* kChange = "how often the governor has changed that";
  constexpr const char* kChanges = "profd_budget_period_changes_total";
  to.Counter(kChanges, kChange, status.on_cpu_changes, {{"of", of}, {"period", "on_cpu"}});
  to.Counter(kChanges, kChange, status.off_cpu_changes, {{"of", of}, {"period", "off_cpu"}});
}

void AddBudget(const Readings& readings, Families& to) {
  const auto& budget = readings.backend.budget;
  to.Gauge("profd_sessions", "collections that run for clients",
           static_cast<std::uint64_t>(readings.sessions));
  to.Counter("profd_refusals_total", "calls and connections refused", readings.refusals);
  AddSampling(budget.sampling.background, "history", to);
  AddSampling(budget.sampling.requested, "sessions", to);
  to.Gauge("profd_clock_limit_cpus", "what exact thread clocks may cost, in CPUs; 0: no limit",
           budget.clock.limit_cpus);
  to.Gauge("profd_clock_spent_cpus", "what they have cost recently, in CPUs",
           budget.clock.spent_cpus);
  to.Gauge("profd_clock_kernel_accounting", "1 while kernel accounting is used instead",
           budget.clock.kernel_accounting ? 1.0 : 0.0);
}

void AddMemory(const budget::MemoryStatus& memory, Families& to) {
  to.Gauge("profd_memory_cap_bytes", "what profd may have in memory, with its maps",
           memory.cap_bytes);
  to.Gauge("profd_memory_used_bytes", "what it has", memory.used_bytes);
  to.Gauge("profd_memory_peak_bytes", "the most that it has had", memory.peak_bytes);
  to.Counter("profd_memory_reclaim_requested_bytes_total", "what its parts were asked to give up",
             memory.reclaim_requested_bytes);
  to.Gauge("profd_memory_dropping", "1 while samples are dropped to stay below the cap",
           memory.dropping ? 1.0 : 0.0);
  for (const auto& holder : memory.holders)
    to.Gauge("profd_memory_held_bytes", "of that, what parts hold that can tell", holder.bytes,
             {{"holder", holder.name}});
}

void AddHistory(const history::HistoryStatus& history, Families& to) {
  const auto& store = history.store;
  to.Gauge("profd_history_bytes", "size of all files of the history", store.bytes);
  to.Gauge("profd_history_limit_bytes", "size that they may have", store.limit_bytes);
  to.Gauge("profd_history_limit_seconds", "age that windows may have", Seconds(store.limit_ns));
  to.Gauge("profd_history_windows", "windows that are kept", store.windows);
  to.Gauge("profd_history_first_timestamp_seconds", "begin of the first window, since 1970",
           Seconds(store.first_unix_ns));
  to.Gauge("profd_history_last_timestamp_seconds", "end of the last window, since 1970",
           Seconds(store.last_unix_ns));
  to.Counter("profd_history_puts_total", "windows given to the store", store.puts);
  to.Counter("profd_history_failed_puts_total", "of those, which it could not keep",
             store.failed_puts);
  to.Gauge("profd_history_largest_put_bytes",
           "most that the store has written for one window: it may be above its limit by that",
           store.largest_put_bytes);
  to.Counter("profd_history_windows_lost_total", "windows that did not come to the store",
             history.windows_lost);
  to.Counter("profd_history_damages_total",
             "how often the store was found damaged; the log says what was lost",
             static_cast<std::uint64_t>(store.losses.size()));
  to.Gauge("profd_history_window_seconds", "length of a window", Seconds(history.window_ns));
  constexpr const char* kPeriod =
      "mean time between samples of a thread, before the budget; 0: none are taken";
  to.Gauge("profd_history_period_seconds", kPeriod, Seconds(history.on_cpu_period_ns),
           {{"period", "on_cpu"}});
  to.Gauge("profd_history_period_seconds", kPeriod, Seconds(history.off_cpu_period_ns),
           {{"period", "off_cpu"}});
  if (history.closure_error)
    to.Gauge("profd_history_closure_error_ratio",
             "by how much the states of a thread do not add up to the time that passed; the worst "
             "thread of the last window",
             *history.closure_error);
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
  return families.Text();
}

}  // namespace profd::server
