#include "client/commands/command_line.h"

#include "client/system/exit_code.h"
#include "client/system/output_file.h"

namespace profd::client {
namespace {

class VersionVerb : public Verb {
 public:
  VersionVerb();
  [[nodiscard]] int Run(const Context& context) override;
};

VersionVerb::VersionVerb()
    : Verb({.name = "version", .usage = "profctl version", .summary = "print the version"}) {}

int VersionVerb::Run(const Context& context) {
  const auto written = WriteToStdout("profctl " PROFD_VERSION "\n");
  if (!written && !written.error().message.empty()) context.console.Fail(written.error());
  return ToInt(written ? ExitCode::kOk : ExitCode::kFailure);
}

}  // namespace

std::unique_ptr<Verb> MakeVersionVerb() { return std::make_unique<VersionVerb>(); }

}  // namespace profd::client
