#include "daemon/pipeline/target_description.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "daemon/process/process_info.h"

namespace profd::pipeline {
namespace {

constexpr std::size_t kMaxProcesses = 64;

// The tgid of a thread; 0 when /proc does not know it.
std::uint32_t ProcessOf(std::uint32_t tid, const ProcFs& proc) {
  const auto status = proc.Read(std::to_string(tid) + "/status", 65'536);
  if (!status) return 0;
  const auto line = status->find("\nTgid:\t");
  if (line == std::string::npos) return 0;
  std::uint32_t pid = 0;
  std::from_chars(status->data() + line + 7, status->data() + status->size(), pid);
  return pid;
}

}  // namespace

std::uint32_t OwnPidNamespace(const ProcFs& proc) {
  const auto link = proc.ReadLink("self/ns/pid");  // "pid:[4026531836]"
  if (!link) return 0;
  const auto open = link->find('[');
  std::uint32_t inode = 0;
  if (open != std::string::npos)
    std::from_chars(link->data() + open + 1, link->data() + link->size(), inode);
  return inode;
}

SessionStart DescribeTarget(const session::Target& target, const ProcFs& proc) {
  SessionStart start;
  const bool pids = target.kind == session::TargetKind::kPids;
  if ((!pids && target.kind != session::TargetKind::kTids) || target.pidns_inode != 0) return start;
  for (const auto id : target.ids) {
    const std::uint32_t pid = pids ? id : ProcessOf(id, proc);
    if (pid == 0) continue;
    const std::string folder = std::to_string(pid);
    if (pids) {
      const auto threads = proc.ListNumbers(folder + "/task");
      start.threads += threads ? static_cast<std::uint32_t>(threads->size()) : 0;
    } else {
      ++start.threads;
    }
    const auto& known = start.processes;
    const bool again = std::any_of(known.begin(), known.end(),
                                   [pid](const auto& process) { return process.key.pid == pid; });
    if (again || known.size() >= kMaxProcesses) continue;
    const auto comm = proc.Read(folder + "/comm", 4096);
    if (!comm) continue;
    aggregate::ProfileProcess process;
    process.key.pid = process.shown_pid = pid;
    process.comm = process::ParseComm(*comm);
    if (const auto arguments = proc.Read(folder + "/cmdline", 1u << 20))
      process.command_line = process::ParseCommandLine(*arguments);
    start.processes.push_back(std::move(process));
  }
  return start;
}

}  // namespace profd::pipeline
