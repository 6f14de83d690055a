#include "client/cli/top_values.h"

#include <charconv>
#include <string>

#include "client/cli/target_values.h"
#include "client/cli/values.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kShortestIntervalNs = 100'000'000;

Result<void> ParseView(const RawOptions& raw, TopState& state) {
  if (static_cast<int>(raw.top_threads) + static_cast<int>(raw.top_functions) +
          static_cast<int>(raw.top_processes) >
      1)
    return Usage("more than one of --functions, --threads and --processes is given",
                 "a key changes it while the table is shown");
  if (raw.top_functions) state.view = TopView::kFunctions;
  if (raw.top_threads) state.view = TopView::kThreads;
  return {};
}

Result<void> ParseSort(const RawOptions& raw, TopState& state) {
  if (raw.top_sort.empty()) return {};
  std::string names;
  for (const TopSort sort : SortsOf(state.view)) {
    if (raw.top_sort == NameOf(sort)) {
      state.sort = sort;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(NameOf(sort));
  }
  return Usage("--sort " + raw.top_sort + ": " + NameOf(state.view) + " have no such column",
               "it is one of " + names);
}

}  // namespace

Result<TopOptions> ParseTop(const RawOptions& raw) {
  TopOptions options;
  const bool named =
      !raw.pids.empty() || !raw.tids.empty() || !raw.comm.empty() || !raw.cgroup.empty();
  RawOptions with_target = raw;
  with_target.all = raw.all || !named;
  const auto target = ParseTarget(with_target, false, "nothing: that is -a");
  if (!target) return target.error();
  options.target = *target;
  const auto mode = ParseMode(raw.mode);
  if (!mode) return mode.error();
  options.mode = *mode;
  if (!raw.frequency.empty()) {
    const auto frequency = ParseFrequency(raw.frequency);
    if (!frequency) return frequency.error();
    options.frequency_hz = *frequency;
  }
  if (!raw.budget.empty()) {
    const auto budget = ParseBudget(raw.budget);
    if (!budget) return budget.error();
    options.budget_cpus = *budget;
  }
  if (!raw.top_interval.empty()) {
    const auto interval = ParseDuration(raw.top_interval);
    if (!interval) return interval.error();
    if (*interval < kShortestIntervalNs)
      return Usage("--interval " + raw.top_interval + " is too short", "it is at least 100ms");
    options.interval_ns = *interval;
  }
  if (!raw.top_count.empty()) {
    const char* end = raw.top_count.data() + raw.top_count.size();
    const auto parsed = std::from_chars(raw.top_count.data(), end, options.count);
    if (parsed.ec != std::errc{} || parsed.ptr != end || options.count == 0)
      return Usage("-n " + raw.top_count + " is no number of tables", "it is 1 or more");
  }
  // Who counts the tables wants them one below the other.
  options.plain = raw.top_batch || options.count > 0;
  PROFD_TRY(ParseView(raw, options.state));
  PROFD_TRY(ParseSort(raw, options.state));
  options.state.filter = raw.top_filter;
  return options;
}

}  // namespace profd::client
