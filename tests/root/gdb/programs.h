// Programs that are looked at while they wait.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "tests/support/subprocess.h"

namespace profd::gdb {

// Ends the program, and what it started, in its own way. Owned by a test.
class Program {
 public:
  // `ended_by`: the signal upon which it takes its children along.
  [[nodiscard]] static Result<Program> Start(const std::vector<std::string>& command, int ended_by,
                                             const testing::SubprocessOptions& options = {});
  Program(Program&&) noexcept = default;
  Program& operator=(Program&&) = delete;
  ~Program();

  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(subprocess_.pid()); }
  [[nodiscard]] testing::Subprocess& subprocess() { return subprocess_; }

 private:
  Program(testing::Subprocess subprocess, int ended_by)
      : subprocess_(std::move(subprocess)), ended_by_(ended_by) {}
  testing::Subprocess subprocess_;
  int ended_by_;
};

// A folder that is removed in the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Until the process has so many threads, and all of them sleep; or it has ended.
void AwaitAsleep(std::uint32_t pid, std::size_t threads);

// The process and its descendants.
[[nodiscard]] std::vector<std::uint32_t> FamilyOf(std::uint32_t pid);
[[nodiscard]] std::string NameOf(std::uint32_t pid);

}  // namespace profd::gdb
