#include "client/commands/list.h"

#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"
#include "client/commands/common/fleet_reports.h"

namespace profd::client {

ListVerb::ListVerb()
    : Verb({.name = "list",
            .usage = "profctl list [--since SPAN | --from TIME --to TIME] [WHO]... [OPTIONS]\n"
                     "       profctl list --fleet URL [--service NAME] [OPTIONS]",
            .summary = "list the processes of the history, or their threads, with their time in "
                       "each state",
            .about =
                "Times are in threads on average over the whole time range, so running is also "
                "how many CPUs a process used. Stolen is shown where it is more than 0.5 % of "
                "a CPU, and so are working and spinning (waiting with a CPU in hand) in the "
                "place of running. Of a fleet it lists services, or the versions of one.",
            .footer = "Examples:\n"
                      "  profctl list --since 10m\n"
                      "  profctl list --unit redis-server --threads\n"
                      "  profctl list --filter 'function = malloc'\n"
                      "  profctl list --fleet clickhouse://HOST/profd --service cart --by host"}) {
  AddTimes(command(), raw_.times);
  AddFilters(command(), raw_.filters);
  AddFleet(command(), raw_.fleet);
  command().Add({.group = kOutputGroup,
                 .names = "--threads",
                 .into = &raw_.threads,
                 .help = "a row a thread"});
  AddGroupBy(command(), raw_.group_by, "a row for each of these");
  AddFilter(command(), kOutputGroup, raw_.filter);
  AddJson(command(), raw_.json, "as JSON, all rows, times in ns");
}

Result<void> ListVerb::TakeFleet() {
  if (raw_.threads) return Usage("--threads is not for fleets", "--by host, or profctl query");
  if (!raw_.filter.empty())
    return Usage("--filter of a list is not for fleets", "profctl query has it");
  auto fleet = ParseFleet(raw_.fleet, raw_.filters, raw_.times, NowUnixNs());
  if (!fleet) return fleet.error();
  FleetKey rows = fleet->question.service.empty() ? FleetKey::kService : FleetKey::kVersion;
  if (!raw_.group_by.empty()) {
    const auto key = FleetKeyNamed(raw_.group_by);
    if (!key)
      return Usage("--by " + raw_.group_by + " is not for fleets", "it is " + FleetKeyNames());
    rows = *key;
  }
  fleet->question.apart = {rows};
  options_.fleet = *std::move(fleet);
  return {};
}

int ListVerb::Run(const Context& context) {
  return options_.fleet ? RunFleetList({*options_.fleet, raw_.json}, context)
                        : RunQuery(options_, context);
}

Result<void> ListVerb::Take() {
  if (raw_.fleet.requested()) return TakeFleet();
  PROFD_TRY(CheckNoFleet(raw_.fleet));
  auto question = ParseQuestion(raw_.times, raw_.filters, NowUnixNs());
  if (!question) return question.error();
  const auto key = ParseGroupBy(raw_.group_by);
  if (!key) return key.error();
  if (raw_.threads && *key)
    return Usage("both --threads and --group-by are given", "leave one out");
  options_.question = *std::move(question);
  options_.output.threads = raw_.threads;
  options_.output.filter = raw_.filter;
  options_.output.group_by = raw_.threads ? GroupKey::kThread : *key;
  options_.output.report = raw_.json ? Report::kListJson : Report::kList;
  return {};
}

}  // namespace profd::client
