#include "client/commands/waits.h"

#include <utility>

#include "client/commands/common/fleet_reports.h"
#include "client/commands/common/wait_reports.h"

namespace profd::client {

WaitsVerb::WaitsVerb()
    : AnySourceVerb(
          {.name = "waits",
           .usage = "profctl waits PID|TARGET [-d TIME] [-o FILE]... [OPTIONS]\n"
                    "       profctl waits [OPTIONS] -- COMMAND [ARGUMENT]...\n"
                    "       profctl waits FILE.json [-o FILE]... [OPTIONS]\n"
                    "       profctl waits 2h..1h|--since SPAN|--from TIME [WHO]... [OPTIONS]\n"
                    "       profctl waits --fleet URL --service NAME [OPTIONS]",
           .summary = "show who waits for whom, by groups of alike threads",
           .about =
               "Collects, or takes a json file of collect or a range of the history. For "
               "each group of threads it shows why they wait, who ends these waits, and "
               "where the time goes in the end: the thread that ended the wait may itself "
               "have waited, for another one. A .dot or .svg file has it as a graph. Of a fleet "
               "the same is of the hosts whose history is in hook mode, without the numbers of "
               "waits and of spurious wake-ups, which are not exported; where no host is, the "
               "table shows why threads wait and where, and there is no graph: snapshot mode, the "
               "default, does not see who ends a wait.",
           .footer = "Examples:\n"
                     "  profctl waits 1234\n"
                     "  profctl waits out.json -o waits.svg\n"
                     "  profctl waits --since 10m --unit nginx"}) {
  AddSource();
  AddOutputFiles(command(), source().files,
                 "write to FILE: .dot, .svg, .json or .txt; may be given again for more files; - "
                 "is standard output");
  AddFormat(command(), source().format, WaitFormats(), "An svg is drawn by dot of Graphviz.");
  AddNoProgress(command(), source().no_progress);
}

Result<void> WaitsVerb::Take() {
  OutputOptions output;
  output.report = Report::kWaits;
  return TakeSource(std::move(output), "");
}

int WaitsVerb::Run(const Context& context) {
  if (!source().fleet.requested()) return AnySourceVerb::Run(context);
  const auto& options = std::get<QueryOptions>(this->options());
  return RunFleetWaits({*options.fleet, options.output}, context);
}

}  // namespace profd::client
