#include "client/commands/command_line.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "client/format/exporter.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "client/system/terminal.h"
#include "client/text/palette.h"

namespace profd::client {
namespace {

class FormatsVerb : public Verb {
 public:
  FormatsVerb();
  [[nodiscard]] int Run(const Context& context) override;
};

FormatsVerb::FormatsVerb()
    : Verb({.name = "formats",
            .usage = "profctl formats",
            .summary = "list the formats of output files and what opens them"}) {}

int FormatsVerb::Run(const Context& context) {
  constexpr std::size_t kNameWidth = 13;
  const Palette palette(UseColor(context.global.color, STDOUT_FILENO));
  std::string text;
  const auto add = [&](std::string_view name, std::string_view extensions,
                       std::string_view description) {
    text += palette.Paint(Tone::kStrong, name) + std::string(kNameWidth - name.size(), ' ');
    text += std::string(extensions) + "\n" + std::string(kNameWidth, ' ');
    text += std::string(description) + "\n";
  };
  for (const Exporter& exporter : Exporters()) {
    std::string extensions;
    for (const std::string_view extension : exporter.extensions)
      extensions += (extensions.empty() ? "" : " ") + std::string(extension);
    add(exporter.name, extensions,
        std::string(exporter.about) + ": " + std::string(exporter.viewers));
  }
  add(kSummaryFormat, "-f " + std::string(kSummaryFormat), "the tables that a terminal gets");
  const auto written = WriteToStdout(text);
  if (!written && !written.error().message.empty()) context.console.Fail(written.error());
  return ToInt(written ? ExitCode::kOk : ExitCode::kFailure);
}

}  // namespace

std::unique_ptr<Verb> MakeFormatsVerb() { return std::make_unique<FormatsVerb>(); }

}  // namespace profd::client
