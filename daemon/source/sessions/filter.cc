#include "daemon/source/sessions/filter.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "daemon/base/unique_fd.h"
#include "daemon/source/procfs/process_reader.h"

namespace profd::source {
namespace {

bool IsCgroupDirectory(const std::string& path) {
  struct statfs system {};
  struct stat status {};
  return ::statfs(path.c_str(), &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC &&
         ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Mount point of the cgroup v2 hierarchy; empty when there is none.
std::string CgroupMount(const ProcFs& proc) {
  const auto mounts = proc.Read("self/mounts", 4u << 20);
  if (!mounts) return {};
  std::istringstream lines(*mounts);
  std::string device, directory, type, rest;
  while (lines >> device >> directory >> type && std::getline(lines, rest))
    if (type == "cgroup2") return directory;
  return {};
}

Result<void> CheckIds(const session::Target& target, const ProcFs& proc) {
  if (target.ids.empty())
    return Error{ErrorCode::kInvalidArgument, "no process or thread id given", ""};
  if (target.ids.size() > PROFD_MAX_FILTER_IDS) {
    return Error{ErrorCode::kExhausted,
                 std::to_string(target.ids.size()) + " ids are too many: the most is " +
                     std::to_string(PROFD_MAX_FILTER_IDS),
                 ""};
  }
  if (target.pidns_inode != 0) return {};
  for (const std::uint32_t id : target.ids) {
    const auto process = ProcessOf(proc, id);
    session::Target missing = target;
    missing.ids = {id};
    // Of processes with labels, those that are left are the target.
    if (!process && !target.labels.empty()) continue;
    if (!process) return NotFound(missing);
    if (target.kind == session::TargetKind::kPids && *process != id) {
      return Error{ErrorCode::kNotFound,
                   "cannot open process " + std::to_string(id) + ": it is a thread of process " +
                       std::to_string(*process),
                   "name the process, or ask for the thread alone"};
    }
  }
  return {};
}

Result<std::uint64_t> CgroupId(const std::string& name, const ProcFs& proc) {
  const auto directory = CgroupDirectory(name, proc);
  if (!directory) return directory.error();
  struct stat status {};
  if (::stat(directory->c_str(), &status) != 0)
    return ErrorFromErrno(errno, "cannot open cgroup " + name);
  return std::uint64_t{status.st_ino};
}

}  // namespace

Result<profd_filter> MakeFilter(const session::Target& target, const ProcFs& proc) {
  profd_filter filter{};
  filter.pidns_inum = target.pidns_inode;
  if (target.children) filter.flags |= PROFD_TARGET_CHILDREN;
  if (target.kernel_threads) filter.flags |= PROFD_TARGET_KERNEL_THREADS;
  if (target.uid) {
    filter.flags |= PROFD_TARGET_OF_USER;
    filter.uid = *target.uid;
  }
  switch (target.kind) {
    case session::TargetKind::kAll:
      filter.kind = PROFD_TARGET_ALL;
      break;
    case session::TargetKind::kPids:
      filter.kind = PROFD_TARGET_PID;
      PROFD_TRY(CheckIds(target, proc));
      break;
    case session::TargetKind::kTids:
      filter.kind = PROFD_TARGET_TID;
      PROFD_TRY(CheckIds(target, proc));
      break;
    case session::TargetKind::kComm:
      filter.kind = PROFD_TARGET_COMM;
      if (target.name.empty() || target.name.size() >= sizeof(filter.comm)) {
        return Error{ErrorCode::kInvalidArgument,
                     "no thread can have the name '" + target.name + "': names have 1 to 15 bytes",
                     "see /proc/PID/comm"};
      }
      std::memcpy(filter.comm, target.name.data(), target.name.size());
      break;
    case session::TargetKind::kCgroup: {
      filter.kind = PROFD_TARGET_CGROUP;
      const auto id = CgroupId(target.name, proc);
      if (!id) return id.error();
      filter.cgroup_id = *id;
      break;
    }
    case session::TargetKind::kLabels:
      return Error{ErrorCode::kInternal, "the processes with these labels were not looked for", ""};
  }
  return filter;
}

Error NotFound(const session::Target& target) {
  if (!target.labels.empty())
    return Error{ErrorCode::kNotFound, "the processes with these labels have just ended",
                 "try again"};
  const bool threads = target.kind == session::TargetKind::kTids;
  std::string message = threads ? "cannot open thread" : "cannot open process";
  if (target.ids.size() > 1) message.append(threads ? "s" : "es");
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(target.ids.size(), kNamed); ++i)
    message.append(i == 0 ? " " : ", ").append(std::to_string(target.ids[i]));
  if (target.ids.size() > kNamed) message.append(", ...");
  message.append(threads ? ": no such thread" : ": no such process");
  return Error{ErrorCode::kNotFound, message, ""};
}

Result<std::string> CgroupDirectory(const std::string& name, const ProcFs& proc) {
  if (name.starts_with("/") && IsCgroupDirectory(name)) return name;
  const std::string mount = CgroupMount(proc);
  if (mount.empty()) {
    return Error{ErrorCode::kUnsupported, "cannot open cgroup " + name + ": no cgroup v2 mounted",
                 "mount it, or collect by process id"};
  }
  std::string below = mount + (name.starts_with("/") ? "" : "/") + name;
  if (IsCgroupDirectory(below)) return below;
  return Error{ErrorCode::kNotFound,
               "cannot open cgroup " + name + ": no such cgroup below " + mount,
               "see /proc/PID/cgroup"};
}

}  // namespace profd::source
