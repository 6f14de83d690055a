#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "client/commands/collect_target.h"
#include "client/commands/commands.h"
#include "client/commands/target_daemon.h"
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

Result<v1::Dump> Take(const DumpCommandOptions& options, const Context& context,
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
  how.interpreter_frames = options.interpreter_frames;
  how.style.signature = options.signatures;
  how.style.mangled = options.mangled;
  return options.json ? DumpJson(dump, how) : RenderDump(dump, how);
}

}  // namespace

int RunDump(const DumpCommandOptions& options, const Context& context) {
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
  const Result<v1::Dump> dump = Take(options, context, **signals);
  if (!dump) return fail(dump.error());
  const auto written = WriteToStdout(Render(*dump, options, context));
  return written ? ToInt(ExitCode::kOk) : fail(written.error());
}

}  // namespace profd::client
