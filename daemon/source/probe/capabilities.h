// Capabilities: which of the rights profd needs this process has.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::source {

// Effective capabilities of this process, bit i = capability number i of linux/capability.h.
[[nodiscard]] std::uint64_t EffectiveCapabilities();

// Names ("CAP_BPF") of what is needed and not in `effective`, most important first.
// CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE.
[[nodiscard]] std::vector<std::string> MissingCapabilities(std::uint64_t effective);

// kPermissionDenied when BPF programs cannot be used at all; the others only make less visible.
[[nodiscard]] Result<void> CheckCapabilities(std::uint64_t effective);

// What is not to be seen without one of these: "names of kernel functions"; "" for an unknown name.
[[nodiscard]] std::string CostOf(const std::string& capability);

// "CAP_BPF, CAP_PERFMON and CAP_SYSLOG"; empty for none.
[[nodiscard]] std::string JoinNames(const std::vector<std::string>& names);

// Which of these this process lacks: ": CAP_BPF is missing", behind an error; "" for none.
[[nodiscard]] std::string NameMissing(std::initializer_list<std::string_view> among);

// The hint of every error that a right would fix. Above 2, which kernel.org's kernels do not know,
// `perf_event_paranoid` makes Debian's ask for CAP_SYS_ADMIN where CAP_PERFMON should do.
[[nodiscard]] std::string HintFor(std::uint64_t effective, int perf_event_paranoid);

// HintFor this process.
[[nodiscard]] std::string RightsHint();

}  // namespace profd::source
