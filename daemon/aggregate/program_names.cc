#include "daemon/aggregate/program_names.h"

#include <set>
#include <string_view>

#include "bpf/shared/events.h"
#include "daemon/base/files.h"

namespace profd::aggregate {
namespace {

// The kernel cuts names to this length for comm.
std::string_view Cut(std::string_view name) { return name.substr(0, PROFD_COMM_LEN - 1); }

std::string_view StartedAs(const ProfileProcess& process) {
  const std::string_view line = process.command_line;
  const std::string_view first = BaseName(line.substr(0, line.find(' ')));
  const bool agree = !first.empty() && process.comm == Cut(first);
  return agree ? first : BaseName(process.executable);
}

}  // namespace

std::map<std::string, std::string> ProgramNames(const std::vector<ProfileProcess>& processes) {
  std::map<std::string, std::set<std::string_view>> started;
  for (const ProfileProcess& process : processes)
    if (!process.executable.empty()) started[process.executable].insert(StartedAs(process));
  std::map<std::string, std::string> names;
  for (const auto& [file, as] : started)
    if (as.size() == 1 && *as.begin() != BaseName(file)) names.emplace(file, *as.begin());
  return names;
}

}  // namespace profd::aggregate
