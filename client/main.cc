// profctl: collects, shows and exports profiles.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "client/commands/command_line.h"
#include "client/commands/commands.h"
#include "client/system/console.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "client/system/terminal.h"

namespace profd {
namespace {

// A file opened later must not become standard output because that was closed.
void OpenStandardStreams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) ::close(fd);
}

int PrintHelp(const std::string& text) {
  const auto written =
      client::WriteToFd(STDOUT_FILENO, "standard output", [&](std::ostream& out) -> Result<void> {
        out << text;
        return {};
      });
  return ToInt(written ? client::ExitCode::kOk : client::ExitCode::kFailure);
}

int Run(const client::CommandLine& line, const client::Context& context) {
  switch (line.verb) {
    case client::Verb::kHelp:
      return PrintHelp(line.help);
    case client::Verb::kVersion:
      return client::RunVersion(context);
    case client::Verb::kCollect:
      return client::RunCollect(line.collect, context);
    case client::Verb::kTop:
      return client::RunTop(line.top, context);
    case client::Verb::kQuery:
      return client::RunQuery(line.query, context);
    case client::Verb::kDump:
      return client::RunDump(line.dump, context);
    case client::Verb::kDiff:
      return client::RunDiff(line.diff, context);
    case client::Verb::kDoctor:
      return client::RunDoctor(line.doctor, context);
    case client::Verb::kStatus:
      return client::RunStatus(line.status, context);
    case client::Verb::kFormats:
      return client::RunFormats(context);
    case client::Verb::kExport:
      return client::RunExport(line.export_command, context);
  }
  return ToInt(client::ExitCode::kFailure);
}

int Main(std::vector<std::string> arguments) {
  const bool terminal = client::IsTerminal(STDERR_FILENO);
  const Result<client::CommandLine> line = client::ParseCommandLine(std::move(arguments));
  client::Console::Options options;
  if (line) {
    options.quiet = line->global.quiet;
    options.verbose = line->global.verbose;
    // The words of a command that is being profiled come on the same terminal.
    options.progress = terminal && !line->collect.no_progress && line->collect.command.empty();
  }
  const auto color = line ? line->global.color : client::ColorChoice::kAuto;
  options.palette = client::Palette(client::UseColor(color, STDERR_FILENO));
  client::Console console(options);
  if (!line) {
    console.Fail(line.error());
    return ToInt(client::ExitCodeOf(line.error().code));
  }
  client::TempFiles temp_files;
  const client::Exporters exporters;
  return Run(*line, client::Context{line->global, console, temp_files, exporters});
}

}  // namespace
}  // namespace profd

int main(int argc, char** argv) {
  try {
    profd::OpenStandardStreams();
    return profd::Main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& exception) {  // of libraries: out of memory, no thread to be had
    std::fprintf(stderr, "profctl: %s\n", exception.what());
    return 1;
  }
}
