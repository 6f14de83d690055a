#include "client/commands/symbols.h"

#include <cstdint>
#include <utility>

#include "client/cli/values.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kDefaultDurationNs = 2'000'000'000;

}  // namespace

SymbolsVerb::SymbolsVerb()
    : Verb({.name = "symbols",
            .usage = "profctl symbols TARGET [-d TIME] [--json] [-o FILE] [OPTIONS]\n"
                     "       profctl symbols FILE.json [--json] [-o FILE] [OPTIONS]",
            .summary = "show where names come from, module by module, and what to install",
            .about = "Collects for a moment, or takes a json file of collect, and counts the "
                     "frames of each module: how many have a name and a source line, and why the "
                     "others have none.",
            .footer = "Examples:\n"
                      "  profctl symbols -p 1234\n"
                      "  profctl symbols out.json --json"}) {
  command().Add({.names = "FILE", .into = &raw_.input, .offer = Offer::kFiles});
  AddTarget(command(), raw_.target);
  command().Add({.group = kWhatGroup,
                 .names = "-d,--duration",
                 .into = &raw_.duration,
                 .value = "TIME",
                 .help = "how long: 10s, 500ms, 2m; a bare number is seconds; default 2s",
                 .more = "It is between 1ms and 24h."});
  AddFrequency(command(), raw_.sampling);
  AddChildren(command(), raw_.target);
  AddJson(command(), raw_.json, "as JSON, with every frame that has no name");
  AddOutputFiles(command(), raw_.files, "write to FILE; - is standard output");
  AddNoProgress(command(), raw_.no_progress);
}

Result<void> SymbolsVerb::Take() {
  OutputOptions output;
  output.report = raw_.json ? Report::kSymbolsJson : Report::kSymbols;
  output.files = raw_.files;
  if (!raw_.input.empty()) {
    if (raw_.target.kinds() > 0)
      return Usage("both a file and a target are named", "leave one out");
    options_ = ExportCommandOptions{raw_.input, std::move(output)};
    return {};
  }
  CollectOptions options;
  const Result<v1::Target> target = ParseTarget(raw_.target, false, "FILE.json");
  if (!target) return target.error();
  options.target = *target;
  options.duration_ns = kDefaultDurationNs;
  if (!raw_.duration.empty()) {
    const auto duration = ParseDurationOf("-d", raw_.duration, kSessionLimits);
    if (!duration) return duration.error();
    options.duration_ns = *duration;
  }
  const Result<Sampling> sampling = ParseSampling(raw_.sampling);
  if (!sampling) return sampling.error();
  options.sampling = *sampling;
  options.no_progress = raw_.no_progress;
  options.output = std::move(output);
  options_ = std::move(options);
  return {};
}

int SymbolsVerb::Run(const Context& context) {
  if (const auto* collect = std::get_if<CollectOptions>(&options_))
    return RunCollect(*collect, context);
  return RunExport(std::get<ExportCommandOptions>(options_), context);
}

}  // namespace profd::client
