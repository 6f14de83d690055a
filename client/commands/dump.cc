#include "client/commands/dump.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "client/commands/common/collect_target.h"
#include "client/commands/common/target_daemon.h"
#include "client/screens/dump/dump_view.h"
#include "client/screens/json/screen_json.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "client/system/stop_signals.h"
#include "client/system/terminal.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

v1::DumpRequest Request(const DumpCommandOptions& options) {
  v1::DumpRequest request;
  *request.mutable_target() = TargetFromHere(options.target);
  request.set_no_inlined(!options.inlined);
  request.set_no_lines(!options.lines);
  return request;
}

Result<v1::Dump> Dump(const DumpCommandOptions& options, const Context& context,
                      const StopSignals& signals) {
  const auto connection = ConnectFor(options.target, context, signals);
  if (!connection) return connection.error();
  const auto begin = std::chrono::steady_clock::now();
  Result<v1::Dump> dump = connection->client->Dump(Request(options));
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  context.console.Explain("the dump took " +
                          FormatDuration(static_cast<std::uint64_t>(took.count())));
  return dump;
}

std::string Render(const v1::Dump& dump, const DumpCommandOptions& options,
                   const Context& context) {
  DumpOptions how;
  how.width = IsTerminal(STDOUT_FILENO) ? WidthOf(STDOUT_FILENO) : 0;
  how.palette = Palette(UseColor(context.global.color, STDOUT_FILENO));
  how.interpreter_frames = options.names.interpreter_frames;
  how.style.signature = options.names.signatures;
  how.style.mangled = options.names.mangled;
  return options.json ? DumpJson(dump, how) : RenderDump(dump, how);
}

}  // namespace

DumpVerb::DumpVerb()
    : Verb({.name = "dump",
            .usage = "profctl dump -p PID [--json] [OPTIONS]",
            .summary = "show what every thread of a process does right now",
            .about = "Its state, what it waits for, and its stack: kernel, native and Python "
                     "frames in one, the innermost first. Stops nothing: threads that wait are "
                     "read as they stand, those that run are sampled.",
            .footer = "Examples:\n"
                      "  profctl dump -p 1234\n"
                      "  profctl dump -p 1234 --json | jq '.processes[].gil_holder'\n"
                      "\n"
                      "Exit codes: 0 ok, 1 failure, 2 usage, 3 no such process or thread,\n"
                      "4 profd unreachable, 5 permission denied."}) {
  AddIds(command(), raw_.target);
  AddJson(command(), raw_.json, "as JSON; times are ns of CLOCK_MONOTONIC");
  AddPlaces(command(), kOutputGroup, raw_.places);
  AddNative(command(), kOutputGroup);
  AddNames(command(), raw_.names);
}

Result<void> DumpVerb::Take() {
  const Result<v1::Target> target = ParseIdTarget(raw_.target);
  if (!target) return target.error();
  options_ = {*target, raw_.json, !raw_.places.no_inlines, !raw_.places.no_lines, raw_.names};
  return {};
}

int DumpVerb::Run(const Context& context) {
  const auto fail = [&](const Error& error) {
    if (!error.message.empty()) context.console.Fail(error);
    return ToInt(ExitCodeOf(error.code));
  };
  const auto signals = StopSignals::Block();
  if (!signals) return fail(signals.error());
  (*signals)->Handle([&](int signal, bool) {
    context.temp_files.RemoveAll();
    ::_exit(128 + signal);
  });
  const Result<v1::Dump> dump = Dump(options_, context, **signals);
  if (!dump) return fail(dump.error());
  const auto written = WriteToStdout(Render(*dump, options_, context));
  return written ? ToInt(ExitCode::kOk) : fail(written.error());
}

}  // namespace profd::client
