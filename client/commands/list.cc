#include "client/commands/list.h"

#include <utility>

#include "client/cli/time_values.h"
#include "client/cli/values.h"

namespace profd::client {

ListVerb::ListVerb()
    : Verb({.name = "list",
            .usage = "profctl list [--since SPAN | --from TIME --to TIME] [WHO]... [OPTIONS]",
            .summary = "list the processes of the history, or their threads, with their time in "
                       "each state",
            .about =
                "Times are in threads on average over the whole time range, so running is also "
                "how many CPUs a process used. Stolen is shown where it is more than 0.5 % of "
                "a CPU, and so are working and spinning (waiting with a CPU in hand) in the "
                "place of running.",
            .footer = "Examples:\n"
                      "  profctl list --since 10m\n"
                      "  profctl list --unit redis-server --threads"}) {
  AddTimes(command(), raw_.times);
  AddFilters(command(), raw_.filters);
  command().Add({.group = kOutputGroup,
                 .names = "--threads",
                 .into = &raw_.threads,
                 .help = "a row a thread"});
  AddGroupBy(command(), raw_.group_by, "a row for each of these");
  AddJson(command(), raw_.json, "as JSON, all rows, times in ns");
}

Result<void> ListVerb::Take() {
  auto question = ParseQuestion(raw_.times, raw_.filters, NowUnixNs());
  if (!question) return question.error();
  const auto key = ParseGroupBy(raw_.group_by);
  if (!key) return key.error();
  if (raw_.threads && *key)
    return Usage("both --threads and --group-by are given", "leave one out");
  options_.question = *std::move(question);
  options_.output.threads = raw_.threads;
  options_.output.group_by = raw_.threads ? GroupKey::kThread : *key;
  options_.output.report = raw_.json ? Report::kListJson : Report::kList;
  return {};
}

}  // namespace profd::client
