#include "client/commands/command_line.h"

#include <algorithm>
#include <utility>

#include "client/cli/help_text.h"
#include "client/cli/parser.h"
#include "client/cli/values.h"
#include "client/commands/collect.h"
#include "client/commands/diff.h"
#include "client/commands/dump.h"
#include "client/commands/export.h"
#include "client/commands/fleet/fleet.h"
#include "client/commands/health/doctor.h"
#include "client/commands/health/status.h"
#include "client/commands/list.h"
#include "client/commands/query.h"
#include "client/commands/report.h"
#include "client/commands/symbols.h"
#include "client/commands/threads.h"
#include "client/commands/top.h"
#include "client/commands/waits.h"
#include "client/commands/web/web.h"

namespace profd::client {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  profctl collect -p 1234                10 seconds of a process, as a table\n"
    "  profctl collect -p 1234 -o out.svg     as a flame graph\n"
    "  profctl collect -o out.svg -- make     a command, from its first instruction\n"
    "  profctl top                            who is busy, live\n"
    "  profctl dump -p 1234                   what each of its threads does right now\n"
    "  profctl query --since 1h               what the host did in the last hour\n"
    "  profctl web                            all of it, in a browser\n"
    "\n"
    "Options of a command: profctl COMMAND --help";

// The table of the commands.
std::vector<std::unique_ptr<Verb>> MakeVerbs() {
  std::vector<std::unique_ptr<Verb>> verbs;
  verbs.push_back(std::make_unique<CollectVerb>());
  verbs.push_back(std::make_unique<TopVerb>());
  verbs.push_back(std::make_unique<WaitsVerb>());
  verbs.push_back(std::make_unique<ThreadsVerb>());
  verbs.push_back(std::make_unique<ReportVerb>());
  verbs.push_back(std::make_unique<WebVerb>());
  verbs.push_back(std::make_unique<QueryVerb>());
  verbs.push_back(std::make_unique<ListVerb>());
  verbs.push_back(std::make_unique<DumpVerb>());
  verbs.push_back(std::make_unique<SymbolsVerb>());
  verbs.push_back(std::make_unique<ExportVerb>());
  verbs.push_back(std::make_unique<DiffVerb>());
  verbs.push_back(std::make_unique<FleetVerb>());
  verbs.push_back(std::make_unique<DoctorVerb>());
  verbs.push_back(std::make_unique<StatusVerb>());
  verbs.push_back(MakeFormatsVerb());
  verbs.push_back(MakeVersionVerb());
  return verbs;
}

}  // namespace

Verbs::Verbs()
    : root_({.usage = "profctl COMMAND [OPTIONS]",
             .summary = "Shows where a Linux host's processes spend their time: on a CPU, waiting "
                        "for one, or blocked, and on what.",
             .footer = kFooter}),
      verbs_(MakeVerbs()) {
  AddCommon(root_, common_);
  root_.Add({.group = kOtherGroup,
             .names = "-V,--version",
             .into = &version_,
             .help = "print the version",
             .more = "It stands before a command."});
  for (const auto& verb : verbs_) {
    AddCommon(verb->command(), common_);
    commands_.push_back(&verb->command());
  }
}

Verb& Verbs::Of(const Command& command) const {
  return **std::ranges::find_if(verbs_,
                                [&](const auto& verb) { return &verb->command() == &command; });
}

const Command& Verbs::ByName(std::string_view name) const {
  return **std::ranges::find(commands_, name, &Command::name);
}

Result<CommandLine> ParseCommandLine(const Verbs& verbs, std::vector<std::string> arguments) {
  const auto parsed = ParseArguments(verbs.root(), verbs.commands(), std::move(arguments));
  if (!parsed) return parsed.error();
  CommandLine line;
  if (parsed->help) {
    line.help = parsed->command == nullptr ? HelpText(verbs.root(), verbs.commands())
                                           : HelpText(*parsed->command, {});
    return line;
  }
  Result<GlobalOptions> global = ParseCommon(verbs.common());
  if (!global) return global.error();
  line.global = *std::move(global);
  const Command* command = verbs.version() ? &verbs.ByName("version") : parsed->command;
  if (command == nullptr)
    return Usage("no command is named", "see profctl --help; most want profctl collect -p PID");
  line.verb = &verbs.Of(*command);
  PROFD_TRY(line.verb->Take());
  return line;
}

}  // namespace profd::client
