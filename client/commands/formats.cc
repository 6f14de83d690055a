#include <unistd.h>

#include <string>
#include <string_view>

#include "client/commands/commands.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "client/system/terminal.h"
#include "client/text/palette.h"

namespace profd::client {

int RunFormats(const Context& context) {
  constexpr std::size_t kNameWidth = 13;
  const Palette palette(UseColor(context.global.color, STDOUT_FILENO));
  std::string text;
  const auto add = [&](std::string_view name, std::string_view extensions,
                       std::string_view description) {
    text += palette.Paint(Tone::kStrong, name) + std::string(kNameWidth - name.size(), ' ');
    text += std::string(extensions) + "\n" + std::string(kNameWidth, ' ');
    text += std::string(description) + "\n";
  };
  for (const auto& exporter : context.exporters.all()) {
    std::string extensions;
    for (const std::string_view extension : exporter->extensions())
      extensions += (extensions.empty() ? "" : " ") + std::string(extension);
    add(exporter->name(), extensions, exporter->description());
  }
  add("summary", "-f summary", "the tables that a terminal gets");
  const auto written = WriteToStdout(text);
  if (!written && !written.error().message.empty()) context.console.Fail(written.error());
  return ToInt(written ? ExitCode::kOk : ExitCode::kFailure);
}

}  // namespace profd::client
