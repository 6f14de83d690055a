// DoctorChecks: what is known of a host, a profd and a process, judged. Pure but for the files of
// the roots that are given.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/screens/doctor/doctor_view.h"
#include "daemon/base/proc/proc_fs.h"
#include "profd/v1/profile.pb.h"
#include "profd/v1/status.pb.h"

namespace profd::client {

// The files in which this host describes itself.
struct HostFiles {
  ProcFs proc;
  ProcFs sys{"/sys"};
  std::string debug_files = "/usr/lib/debug/.build-id";
  std::string debuginfod_urls;  // of the profd that runs for this command
};

// Release, BTF, lockdown, settings, and where debug information would come from.
[[nodiscard]] std::vector<Finding> CheckHost(const HostFiles& host);
// Hook, clocks, rights, losses, interpreters, runtimes of containers, history.
[[nodiscard]] std::vector<Finding> CheckStatus(const v1::StatusResponse& status);
// Code that it makes as it runs, and whether anybody says what that is called. `seen`: a short
// profile of it; null: there is none.
[[nodiscard]] std::vector<Finding> CheckProcess(std::uint32_t pid, const HostFiles& host,
                                                const v1::Profile* seen = nullptr);
// Of a short profile of one process: names, whole stacks, its Python interpreter. `packages`: debug
// packages by path of the module, where they are known.
[[nodiscard]] std::vector<Finding> CheckSamples(const v1::Profile& profile,
                                                const std::map<std::string, std::string>& packages);

}  // namespace profd::client
