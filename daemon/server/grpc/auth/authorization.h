// Authorization: decides what a caller may see of the host. All functions are pure, except those
// that read /proc.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/process/process_info.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/session/session_control.h"
#include "daemon/source/procfs/exclusive_owner.h"
#include "profd/v1/dump.pb.h"
#include "profd/v1/profile.pb.h"
#include "profd/v1/status.pb.h"

namespace profd::server {

using source::ExclusiveOwner;

// The rule that all functions below follow: a user sees what that user owns exclusively. Only
// callers who see everything see things without an exclusive owner.
[[nodiscard]] bool MaySee(const Caller& caller, ExclusiveOwner owner);

// For a process of the past, as /proc last described it.
[[nodiscard]] bool MaySee(const Caller& caller, const process::Owner& owner);

// A session that was begun by `client` (ClientName). Readers see none of others.
[[nodiscard]] bool MaySee(const Caller& caller, const std::string& client);

// kPermissionDenied: a reader may not make this call, which is for operators. `call`: "Collect".
[[nodiscard]] Result<void> CheckOperator(const Caller& caller, const char* call);

// From /proc/ID of a process or thread. kNotFound: there is none.
[[nodiscard]] Result<ExclusiveOwner> GetOwner(std::uint32_t id, const ProcFs& proc);

// Limits the target to what the caller may see; the BPF side enforces it for every thread.
// kPermissionDenied: it names processes of other users, or none at all. The BPF side checks ids of
// another pid namespace.
[[nodiscard]] Result<void> Confine(const Caller& caller, const ProcFs& proc,
                                   session::Target& target);

// For callers who do not see everything: addresses reveal where the kernel lies, its names do not.
void HideKernelAddresses(v1::Profile& profile);
void HideKernelAddresses(v1::Dump& dump);
// What has failed inside of profd may name its files, or files of others. kInvalidArgument,
// kNotFound and the like are about the request, and are returned as they are.
[[nodiscard]] Error HideHost(Error error);
// Files, and reasons that may name other users' programs.
void HideHost(v1::StatusResponse& status);

}  // namespace profd::server
