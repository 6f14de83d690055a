// What the screens say, for programs: one JSON object each, indented, ended by a newline. Numbers
// of 64 bits are as in files: those that are not IsJsonNumber are strings.
#pragma once

#include <string>
#include <vector>

#include "client/profile/grouping.h"
#include "client/screens/doctor/doctor_view.h"
#include "client/screens/dump/dump_view.h"
#include "client/screens/symbols/module_rows.h"

namespace profd::v1 {
class Dump;
class Profile;
class StatusResponse;
}  // namespace profd::v1

namespace profd::client {

// Keys as in status.proto.
[[nodiscard]] std::string StatusJson(const v1::StatusResponse& status);

// {"ok": false, "checks": [{"check", "verdict", "found", "fix"}]}
[[nodiscard]] std::string FindingsJson(const std::vector<Finding>& findings);

// The dump with every frame that RenderDump would show. It must have passed CheckDump.
[[nodiscard]] std::string DumpJson(const v1::Dump& dump, const DumpOptions& options);

// The profiles must have passed CheckProfile.
[[nodiscard]] std::string GroupsJson(const v1::Profile& profile, GroupKey key);
// Who waits for whom: {"rows": [...], "knots": [[...]]}.
[[nodiscard]] std::string WaitsJson(const v1::Profile& profile);
[[nodiscard]] std::string SymbolsJson(const v1::Profile& profile, const DebugPackages& packages);

}  // namespace profd::client
