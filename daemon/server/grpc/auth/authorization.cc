#include "daemon/server/grpc/auth/authorization.h"

#include <sys/stat.h>

#include <string>

namespace profd::server {
namespace {

constexpr std::size_t kMaxStatus = 1u << 16;

// Ids of another pid namespace mean other processes here, so they must not be looked up. 0: the
// client does not say which namespace it means.
bool IsOursOrNotSaid(std::uint32_t pidns_inode, const ProcFs& proc) {
  struct stat ours {};
  return pidns_inode == 0 ||
         (stat(proc.Path("self/ns/pid").c_str(), &ours) == 0 && ours.st_ino == pidns_inode);
}

template <typename Message>
void HideAddresses(Message& message) {
  for (auto& frame : *message.mutable_frames())
    if (frame.kind() == v1::FRAME_KERNEL) frame.clear_offset();
}

}  // namespace

bool MaySee(const Caller& caller, ExclusiveOwner owner) {
  return caller.sees_all || (caller.kind == Caller::Kind::kUser && owner == caller.uid);
}

bool MaySee(const Caller& caller, const process::Owner& owner) {
  return MaySee(caller, owner.sole ? owner.uid : std::nullopt);
}

bool MaySee(const Caller& caller, const std::string& client) {
  return (caller.sees_all && caller.role == Role::kOperator) || client == ClientName(caller);
}

Result<void> CheckOperator(const Caller& caller, const char* call) {
  if (caller.role == Role::kOperator) return {};
  return Error{ErrorCode::kPermissionDenied,
               std::string("a reader may look at the history, and not ") + call,
               "use a certificate that tls.operators of that profd names"};
}

Result<ExclusiveOwner> GetOwner(std::uint32_t id, const ProcFs& proc) {
  const std::string directory = std::to_string(id);
  const auto status = proc.Read(directory + "/status", kMaxStatus);
  if (!status)
    return Error{ErrorCode::kNotFound, "cannot open process " + directory + ": no such process",
                 "see what runs: ps -e"};
  return source::SoleOwnerOf(directory, *status, proc);
}

Result<void> Confine(const Caller& caller, const ProcFs& proc, session::Target& target) {
  if (caller.sees_all) return {};
  // The BPF side applies this to every thread, also after a fork and an exec. What follows only
  // refuses a request early, with a message.
  target.uid = caller.uid;
  target.kernel_threads = false;
  if (!IsOursOrNotSaid(target.pidns_inode, proc)) return {};
  for (const auto id : target.ids) {
    // The same answer for processes of others and for those that do not exist: where /proc hides
    // others' processes, profd must not show that they are there.
    const auto owner = GetOwner(id, proc);
    if (owner && MaySee(caller, *owner)) continue;
    const std::string who = caller.name.empty() ? "uid " + std::to_string(caller.uid) : caller.name;
    return Error{ErrorCode::kPermissionDenied,
                 std::string(target.kind == session::TargetKind::kTids ? "thread " : "process ") +
                     std::to_string(id) + " is not owned by " + who + " alone",
                 "use sudo, or become a member of group profd; see what runs: ps -e"};
  }
  return {};
}

void HideKernelAddresses(v1::Profile& profile) { HideAddresses(profile); }
void HideKernelAddresses(v1::Dump& dump) { HideAddresses(dump); }

Error HideHost(Error error) {
  if (error.code != ErrorCode::kIo && error.code != ErrorCode::kCorrupt &&
      error.code != ErrorCode::kInternal)
    return error;
  return {error.code, "profd has failed; its log says why", "ask root, or a member of group profd"};
}

void HideHost(v1::StatusResponse& status) {
  status.clear_replay_file();
  status.clear_recording_file();
  status.clear_unreadable();
  status.clear_degraded();  // it has users whose files do not answer
  status.clear_exports();   // it has addresses of receivers
  status.clear_container_runtimes();
  status.clear_history();  // it has the path of the file and its errors
  status.mutable_python()->clear_waiting();
  status.mutable_python()->clear_refused();
}

}  // namespace profd::server
