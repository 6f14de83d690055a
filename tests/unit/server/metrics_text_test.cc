#include "daemon/server/http/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "bpf/shared/counters.h"

namespace profd::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

server::Readings Example() {
  server::Readings readings;
  readings.start_unix_ns = 1'700'000'000'500'000'000;
  readings.cpu_ns = 2'000'000'000;
  readings.thread_cpu_ns = {{"grpcpp_sync_ser", 100}, {"profd-worker", 1'500'000'000}};
  readings.resident_bytes = 4096;
  readings.progress_age_ns = 250'000'000;
  auto& backend = readings.backend;
  backend.source.levels.kernel_release = "6.1 \"odd\"";
  backend.source.counters.assign(PROFD_COUNTER_MAX, 0);
  backend.source.counters[PROFD_COUNTER_ON_CPU_RING_FULL] = 7;
  backend.source.counters[PROFD_COUNTER_STACKS_NS] = 3'000'000'000;
  backend.by_kind = aggregate::DescribeAllCounters(backend.source.counters);
  backend.by_kind.dropped.push_back({"queue_full", "samples dropped", 5});
  backend.gauges = {{"unwind_memory", "bytes of kernel memory for unwind tables", 65536},
                    {"heap_free", "bytes of the heap that are free", 512}};
  backend.memory = budget::MemoryStatus{.cap_bytes = 1000,
                                        .used_bytes = 700,
                                        .peak_bytes = 800,
                                        .reclaim_requested_bytes = 50,
                                        .dropping = true,
                                        .holders = {{"names", 300}, {"symbol tables", 200}}};
  backend.python.attached = 2;
  backend.python.refused = {{"python_refused", "of alice's secret program", 3}};
  backend.budget.sampling.background.factors.off_cpu = 63.5;
  backend.budget.sampling.background.off_cpu_changes = 4;
  history::HistoryStatus history;
  history.store.path = "/var/lib/profd/history.db";
  history.store.puts = 12;
  history.store.losses = {"of /var/lib/profd/history.db"};
  history.worst_closure_error = 0.00025;
  history.sum_closure_error = -0.0000625;
  readings.history = history;
  backend.exports = {{.name = "far",
                      .to = "otlp+grpc://alice.example.org:4317",
                      .sent = 3,
                      .sent_until_unix_ns = 1'700'000'000'500'000'000,
                      .gaps = {{"spool_full", 1'500'000'000}},
                      .last_error = "unavailable: /home/alice"}};
  readings.sessions = 1;
  readings.refusals = 9;
  return readings;
}

std::vector<std::string> LinesOf(const std::string& text, const std::string& name) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + " ") || line.starts_with(name + "{")) found.push_back(line);
  return found;
}

TEST(MetricsText, ValuesInBaseUnits) {
  const auto text = server::MetricsText(Example());
  EXPECT_THAT(LinesOf(text, "process_cpu_seconds_total"),
              ElementsAre("process_cpu_seconds_total 2"));
  EXPECT_THAT(LinesOf(text, "process_start_time_seconds"),
              ElementsAre("process_start_time_seconds 1700000000.5"));
  EXPECT_THAT(LinesOf(text, "profd_progress_age_seconds"),
              ElementsAre("profd_progress_age_seconds 0.25"));
  EXPECT_THAT(LinesOf(text, "profd_bpf_stacks_seconds_total"),
              ElementsAre("profd_bpf_stacks_seconds_total 3"));
  EXPECT_THAT(LinesOf(text, "profd_unwind_memory_bytes"),
              ElementsAre("profd_unwind_memory_bytes 65536"));
  EXPECT_THAT(LinesOf(text, "profd_budget_period_factor"),
              ElementsAre("profd_budget_period_factor{of=\"history\",period=\"on_cpu\"} 1",
                          "profd_budget_period_factor{of=\"history\",period=\"off_cpu\"} 63.5",
                          "profd_budget_period_factor{of=\"sessions\",period=\"on_cpu\"} 1",
                          "profd_budget_period_factor{of=\"sessions\",period=\"off_cpu\"} 1"));
  EXPECT_THAT(
      LinesOf(text, "profd_budget_period_changes_total"),
      ElementsAre("profd_budget_period_changes_total{of=\"history\",period=\"on_cpu\"} 0",
                  "profd_budget_period_changes_total{of=\"history\",period=\"off_cpu\"} 4",
                  "profd_budget_period_changes_total{of=\"sessions\",period=\"on_cpu\"} 0",
                  "profd_budget_period_changes_total{of=\"sessions\",period=\"off_cpu\"} 0"));
  EXPECT_THAT(LinesOf(text, "profd_history_closure_error_ratio"),
              ElementsAre("profd_history_closure_error_ratio 0.00025"));
  EXPECT_THAT(LinesOf(text, "profd_history_sum_closure_error_ratio"),
              ElementsAre("profd_history_sum_closure_error_ratio -6.25e-05"));
  EXPECT_THAT(LinesOf(text, "profd_refusals_total"), ElementsAre("profd_refusals_total 9"));
  EXPECT_THAT(LinesOf(text, "profd_dropped_total"),
              ElementsAre("profd_dropped_total{reason=\"queue_full\"} 5"));
}

TEST(MetricsText, ExportsByNameAndGapsByCause) {
  const auto text = server::MetricsText(Example());
  for (const char* line :
       {"profd_export_sent_total{export=\"far\"} 3\n",
        "profd_export_sent_until_timestamp_seconds{export=\"far\"} 1700000000.5\n",
        "profd_export_failing{export=\"far\"} 1\n",
        "profd_export_gap_seconds_total{export=\"far\",cause=\"spool_full\"} 1.5\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsText, MemoryAndItsHolders) {
  const auto text = server::MetricsText(Example());
  for (const auto* line :
       {"profd_memory_cap_bytes 1000", "profd_memory_used_bytes 700", "profd_memory_peak_bytes 800",
        "profd_memory_reclaim_requested_bytes_total 50", "profd_memory_dropping 1",
        "profd_memory_held_bytes{holder=\"names\"} 300",
        "profd_memory_held_bytes{holder=\"symbol tables\"} 200", "profd_heap_free_bytes 512"})
    EXPECT_THAT(text, HasSubstr("\n" + std::string(line) + "\n"));
  auto replay = Example();
  replay.backend.memory.reset();
  EXPECT_THAT(server::MetricsText(replay), Not(HasSubstr("profd_memory")));
}

TEST(MetricsText, ADamagedStoreIsCounted) {
  EXPECT_THAT(LinesOf(server::MetricsText(Example()), "profd_history_damages_total"),
              ElementsAre("profd_history_damages_total 1"));
}

TEST(MetricsText, BeforeTheFirstWindowThereIsNoClosureError) {
  auto readings = Example();
  readings.history->worst_closure_error.reset();
  readings.history->sum_closure_error.reset();
  EXPECT_THAT(server::MetricsText(readings), Not(HasSubstr("closure_error")));
}

TEST(MetricsText, ThreadsAddUpToTheProcess) {
  EXPECT_THAT(LinesOf(server::MetricsText(Example()), "profd_thread_cpu_seconds_total"),
              ElementsAre("profd_thread_cpu_seconds_total{thread=\"profd-worker\"} 1.5",
                          "profd_thread_cpu_seconds_total{thread=\"other\"} 0.5"));
}

TEST(MetricsText, EveryCounterOfTheKernelSideIsThereOnce) {
  const auto text = server::MetricsText(Example());
  EXPECT_THAT(text, HasSubstr("profd_lost_total{reason=\"on_cpu_ring_full\"} 7\n"));
  std::size_t here = 0;
  const auto count = [&](std::string name, const std::string& kind) {
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    std::string line = "\nprofd_" + name + "_total ";
    if (kind == "LOST") line = "\nprofd_lost_total{reason=\"" + name + "\"} ";
    if (kind == "SKIPPED") line = "\nprofd_dropped_total{reason=\"" + name + "\"} ";
    if (name == "cost_ns") line = "\nprofd_bpf_seconds_total ";
    if (name == "stacks_ns") line = "\nprofd_bpf_stacks_seconds_total ";
    if (name == "background_stacks_ns") line = "\nprofd_bpf_background_stacks_seconds_total ";
    if (name == "stolen_ns") line = "\nprofd_stolen_seconds_total ";
    const auto at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    EXPECT_EQ(text.find(line, at + 1), std::string::npos) << line;
    ++here;
  };
#define PROFD_COUNT(name, kind, text) count(#name, #kind);
  PROFD_COUNTERS(PROFD_COUNT)
#undef PROFD_COUNT
  EXPECT_EQ(here, static_cast<std::size_t>(PROFD_COUNTER_MAX));
}

TEST(MetricsText, EachMetricHasAHelpTextAndATypeThatItsNameSays) {
  std::istringstream lines(server::MetricsText(Example()));
  std::set<std::string> known;
  std::string help;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string kind;
    std::string name;
    std::string rest;
    if (!line.starts_with("#")) continue;
    words >> hash >> kind >> name >> rest;
    if (kind == "HELP") {
      EXPECT_THAT(rest, Not(IsEmpty())) << line;
      EXPECT_TRUE(known.insert(name).second) << line;
      help = name;
    } else {
      EXPECT_EQ(kind, "TYPE");
      EXPECT_EQ(name, help);
      EXPECT_EQ(rest, name.ends_with("_total") ? "counter" : "gauge") << line;
    }
  }
  EXPECT_GT(known.size(), 50u);
}

TEST(MetricsText, NamesNothingOfOthersAndSurvivesOddNames) {
  const auto text = server::MetricsText(Example());
  EXPECT_THAT(text, Not(HasSubstr("alice")));
  EXPECT_THAT(text, Not(HasSubstr("/var/lib")));
  EXPECT_THAT(text, HasSubstr("profd_python_processes{state=\"refused\"} 3"));
  EXPECT_THAT(text, HasSubstr("kernel=\"6.1 \\\"odd\\\"\""));
}

}  // namespace
}  // namespace profd::server
