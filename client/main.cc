// profctl: collects, shows and exports profiles.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/command_line.h"
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

int Main(std::vector<std::string> arguments) {
  const bool terminal = client::IsTerminal(STDERR_FILENO);
  const client::Verbs verbs;
  const Result<client::CommandLine> line = client::ParseCommandLine(verbs, std::move(arguments));
  if (line && !line->help.empty()) return PrintHelp(line->help);
  client::Console::Options options;
  if (line) {
    options.quiet = line->global.quiet;
    options.verbose = line->global.verbose;
    options.progress = terminal && line->verb->ShowsProgress();
  }
  const auto color = line ? line->global.color : client::ColorChoice::kAuto;
  options.palette = client::Palette(client::UseColor(color, STDERR_FILENO));
  client::Console console(options);
  if (!line) {
    console.Fail(line.error());
    return ToInt(client::ExitCodeOf(line.error().code));
  }
  client::TempFiles temp_files;
  return line->verb->Run(client::Context{line->global, console, temp_files});
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
