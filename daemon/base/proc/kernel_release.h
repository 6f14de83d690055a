// Which kernels profd runs on.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

namespace profd {

using KernelRelease = std::pair<unsigned, unsigned>;  // 6.1: {6, 1}

// Oldest kernel with task storage in tracing programs, bpf_loop and sleepable iterators.
inline constexpr KernelRelease kOldestKernel{5, 18};

// Of "6.1.0-37-amd64". Nothing when it is no release.
[[nodiscard]] std::optional<KernelRelease> ParseKernelRelease(std::string_view release);

// Whether the text of /sys/kernel/security/lockdown says that BPF may not read memory.
[[nodiscard]] bool LockdownForbidsReading(std::string_view lockdown);

}  // namespace profd
