#include "tests/root/gdb/gdb.h"
#include "tests/support/paths.h"

#include <sstream>
#include <utility>

#include "daemon/base/proc/proc_fs.h"

namespace profd::gdb {
namespace {

// The number after `name` in /proc/PID/status.
std::uint64_t NumberAfter(const std::string& status, const std::string& name) {
  const auto at = status.find("\n" + name + ":");
  return at == std::string::npos ? 0 : std::stoull(status.substr(at + name.size() + 2));
}

void Take(std::istringstream& line, std::map<std::uint32_t, GdbThread>& threads) {
  std::string kind;
  line >> kind;
  if (kind == "switches") {
    std::string when;
    std::uint32_t tid = 0;
    Switches switches;
    line >> when >> tid >> switches.voluntary >> switches.involuntary;
    (when == "before" ? threads[tid].before : threads[tid].after) = switches;
  } else if (kind == "stack") {
    std::uint32_t tid = 0;
    line >> tid;
    GdbThread& thread = threads[tid];
    line >> thread.ended_by >> std::hex;
    for (std::uint64_t pc = 0; line >> pc;) thread.frames.push_back(pc);
  }
}

}  // namespace

std::map<std::uint32_t, Switches> ReadSwitches(std::uint32_t pid) {
  const ProcFs proc;
  const std::string tasks = std::to_string(pid) + "/task";
  std::map<std::uint32_t, Switches> switches;
  const auto tids = proc.ListNumbers(tasks);
  if (!tids) return switches;
  for (const std::uint32_t tid : *tids) {
    const auto status = proc.Read(tasks + "/" + std::to_string(tid) + "/status");
    if (!status) continue;
    switches[tid] = {NumberAfter(*status, "voluntary_ctxt_switches"),
                     NumberAfter(*status, "nonvoluntary_ctxt_switches")};
  }
  return switches;
}

Result<Gdb> Gdb::Start(std::uint32_t pid) {
  auto program = testing::Subprocess::Start(
      {"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load no",
       "-iex", "set $profd_pid=" + std::to_string(pid), "-x",
       test::SourceDirectory() + "/tests/root/gdb/gdb_stacks.py"});
  if (!program) return program.error();
  Gdb gdb(*std::move(program));
  while (true) {
    const auto line = gdb.program_.ReadLine();
    if (!line) return line.error().Wrap("gdb does not start");
    if (line->starts_with("ready")) return gdb;
  }
}

Result<std::map<std::uint32_t, GdbThread>> Gdb::ReadStacks() {
  program_.WriteInput("\n");
  std::map<std::uint32_t, GdbThread> threads;
  std::string said;
  while (true) {
    const auto text = program_.ReadLine();
    if (!text) break;
    if (text->starts_with("done")) return threads;
    said += *text;
    std::istringstream line(*text);
    Take(line, threads);
  }
  return Error{ErrorCode::kInternal, "gdb: " + said + program_.Wait().err, ""};
}

}  // namespace profd::gdb
