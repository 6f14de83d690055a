// Commands: one function a verb. Each returns profctl's exit code and has said what went wrong.
#pragma once

#include "client/cli/options.h"
#include "client/commands/context.h"

namespace profd::client {

[[nodiscard]] int RunCollect(const CollectOptions& options, const Context& context);
[[nodiscard]] int RunTop(const TopOptions& options, const Context& context);
[[nodiscard]] int RunQuery(const QueryOptions& options, const Context& context);
[[nodiscard]] int RunDump(const DumpCommandOptions& options, const Context& context);
[[nodiscard]] int RunDiff(const DiffCommandOptions& options, const Context& context);
[[nodiscard]] int RunDoctor(const DoctorOptions& options, const Context& context);
[[nodiscard]] int RunStatus(const StatusOptions& options, const Context& context);
[[nodiscard]] int RunFormats(const Context& context);
[[nodiscard]] int RunExport(const ExportCommandOptions& options, const Context& context);
[[nodiscard]] int RunVersion(const Context& context);

}  // namespace profd::client
