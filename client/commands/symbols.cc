#include "client/commands/symbols.h"

#include <cstdint>
#include <utility>

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
  AddService(command(), raw_.target);
  AddLabels(command(), raw_.target);
  AddDuration(command(), raw_.duration, "2s");
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
  auto options = TakeFileOrTarget(raw_, std::move(output), kDefaultDurationNs, "FILE.json");
  if (!options) return options.error();
  options_ = *std::move(options);
  return {};
}

int SymbolsVerb::Run(const Context& context) { return RunFileOrTarget(options_, context); }

}  // namespace profd::client
