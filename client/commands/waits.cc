#include "client/commands/waits.h"

#include <utility>
#include <variant>

#include "client/cli/values.h"
#include "client/commands/common/wait_reports.h"

namespace profd::client {

WaitsVerb::WaitsVerb()
    : Verb({.name = "waits",
            .usage = "profctl waits TARGET [-d TIME] [-o FILE]... [OPTIONS]\n"
                     "       profctl waits [OPTIONS] -- COMMAND [ARGUMENT]...\n"
                     "       profctl waits FILE.json [-o FILE]... [OPTIONS]\n"
                     "       profctl waits 2h..1h|--since SPAN|--from TIME [WHO]... [OPTIONS]",
            .summary = "show who waits for whom, by groups of alike threads",
            .about = "Collects, or takes a json file of collect or a range of the history. For "
                     "each group of threads it shows why they wait, who ends these waits, and "
                     "where the time goes in the end: the thread that ended the wait may itself "
                     "have waited, for another one. A .dot or .svg file has it as a graph.",
            .footer = "Examples:\n"
                      "  profctl waits -p 1234\n"
                      "  profctl waits out.json -o waits.svg\n"
                      "  profctl waits --since 10m --unit nginx"}) {
  command().behind = &raw_.command;
  command().Add({.names = "FILE", .into = &raw_.input, .offer = Offer::kFiles});
  AddTarget(command(), raw_.target);
  AddDuration(command(), raw_.duration, kTenSecondsOrCommand);
  AddFrequency(command(), raw_.sampling);
  AddChildren(command(), raw_.target);
  AddTimes(command(), raw_.times);
  AddHistoryFilters(command(), raw_.filters);
  AddOutputFiles(command(), raw_.files,
                 "write to FILE: .dot, .svg, .json or .txt; may be given again for more files; - "
                 "is standard output");
  AddFormat(command(), raw_.format, WaitFormats(), "An svg is drawn by dot of Graphviz.");
  AddNoProgress(command(), raw_.no_progress);
}

Result<void> WaitsVerb::Take() {
  OutputOptions output;
  output.report = Report::kWaits;
  output.files = raw_.files;
  output.format = raw_.format;
  auto history = TakeHistory(raw_, "");
  if (!history) return history.error();
  if (*history) {
    options_ = QueryOptions{**std::move(history), std::move(output)};
    return {};
  }
  auto options = TakeFileOrTarget(raw_, std::move(output), std::nullopt,
                                  "-- COMMAND, a FILE.json or a range of times, 2h..1h");
  if (!options) return options.error();
  std::visit([this](auto& taken) { options_ = std::move(taken); }, *options);
  return {};
}

int WaitsVerb::Run(const Context& context) { return RunFileOrHistory(options_, context); }

}  // namespace profd::client
