// CollectTarget: a target on this host, looked up before the request, with a name for messages.
#pragma once

#include <string>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

// Every pid is a process and every tid a thread of `proc`; kNotFound names the first that is not.
[[nodiscard]] Result<void> CheckTarget(const v1::Target& target, const ProcFs& proc);

// As profd needs it: ids are meant in our pid namespace, and a cgroup may be written
// from the root of the hierarchy, "system.slice/x" for "/sys/fs/cgroup/system.slice/x". What is not
// there is left for profd to refuse.
[[nodiscard]] v1::Target TargetFromHere(v1::Target target);

// The same for profds of other hosts: nothing is looked up here.
[[nodiscard]] v1::Target TargetOnHosts(v1::Target target);

// As an argument for profctl collect: "-p 12,13 -s". `has_command`: children of a command are
// followed without -s.
[[nodiscard]] std::string TargetArguments(const v1::Target& target, bool has_command);

// "4242 (python3 train.py) and its 9 threads". Safe text.
[[nodiscard]] std::string DescribeStarted(const v1::Target& target, bool has_command,
                                          const v1::Started& started);

}  // namespace profd::client
