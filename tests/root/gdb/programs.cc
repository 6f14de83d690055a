#include "tests/root/gdb/programs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "daemon/base/proc/proc_fs.h"
#include "tests/support/eventually.h"

namespace profd::gdb {
namespace {

bool Sleeps(const std::string& stat) {
  const auto end_of_name = stat.rfind(')');
  return end_of_name != std::string::npos && stat.substr(end_of_name, 3) == ") S";
}

// True also when the process is gone.
bool AreAsleep(std::uint32_t pid, std::size_t threads) {
  const ProcFs proc;
  const std::string tasks = std::to_string(pid) + "/task";
  const auto tids = proc.ListNumbers(tasks);
  if (!tids) return true;
  if (tids->size() != threads) return false;
  for (const std::uint32_t tid : *tids) {
    const auto stat = proc.Read(tasks + "/" + std::to_string(tid) + "/stat");
    if (stat && !Sleeps(*stat)) return false;
  }
  return true;
}

}  // namespace

Result<Program> Program::Start(const std::vector<std::string>& command, int ended_by,
                               const testing::SubprocessOptions& options) {
  auto subprocess = testing::Subprocess::Start(command, options);
  if (!subprocess) return subprocess.error();
  return Program(*std::move(subprocess), ended_by);
}

Program::~Program() {
  if (subprocess_.pid() <= 0) return;  // moved from
  subprocess_.Signal(ended_by_);
  (void)subprocess_.Wait();
}

TemporaryFolder::TemporaryFolder() {
  path_ = std::filesystem::temp_directory_path() / "profd-gdb-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void AwaitAsleep(std::uint32_t pid, std::size_t threads) {
  EXPECT_TRUE(test::Eventually([&] { return AreAsleep(pid, threads); }))
      << pid << " does not have " << threads << " threads that sleep";
}

std::vector<std::uint32_t> FamilyOf(std::uint32_t pid) {
  const ProcFs proc;
  std::vector<std::uint32_t> family{pid};
  const auto tids = proc.ListNumbers(std::to_string(pid) + "/task");
  if (!tids) return {};
  for (const std::uint32_t tid : *tids) {
    const auto children =
        proc.Read(std::to_string(pid) + "/task/" + std::to_string(tid) + "/children");
    std::istringstream list(children ? *children : "");
    for (std::uint32_t child = 0; list >> child;)
      for (const std::uint32_t one : FamilyOf(child)) family.push_back(one);
  }
  return family;
}

std::string NameOf(std::uint32_t pid) {
  const auto name = ProcFs().Read(std::to_string(pid) + "/comm");
  return name ? name->substr(0, name->find('\n')) : "?";
}

}  // namespace profd::gdb
