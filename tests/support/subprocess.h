// Subprocess: runs a real program, captures what it says, and never leaves it behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::testing {

struct SubprocessOptions {
  std::map<std::string, std::string> environment;  // added to this process's; "" removes
  std::string working_directory;
  uid_t uid = 0;  // run as this user (needs root)
  gid_t gid = 0;
  bool own_process_group = false;  // signals sent to the group reach it and its children alone
};

struct Outcome {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string out;
  std::string err;
};

// Owned by one test thread. The destructor kills the program, waits for it, and closes its pipes.
class Subprocess {
 public:
  [[nodiscard]] static Result<Subprocess> Start(const std::vector<std::string>& command,
                                                const SubprocessOptions& options = {});
  Subprocess(Subprocess&&) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;
  ~Subprocess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Reads stdout up to and including the next newline; kUnavailable at its end.
  [[nodiscard]] Result<std::string> ReadLine();
  // Waits until `text` has appeared on stderr; kUnavailable when stderr ends before that.
  [[nodiscard]] Result<void> WaitForStderr(const std::string& text);
  void WriteInput(const std::string& text);
  void CloseInput() { input_.Reset(); }
  void Signal(int number) const;
  // Reads both streams to their end and waits for the exit.
  [[nodiscard]] Outcome Wait();

 private:
  Subprocess() = default;
  bool Pump();  // reads what is there from either stream; false when both have ended

  pid_t pid_ = -1;
  UniqueFd input_;
  UniqueFd out_fd_;
  UniqueFd err_fd_;
  std::string out_;
  std::string err_;
  std::size_t out_read_ = 0;
};

// Start and Wait in one; exit code 127 and the cause in `err` when it cannot start.
[[nodiscard]] Outcome Run(const std::vector<std::string>& command,
                          const SubprocessOptions& options = {});

}  // namespace profd::testing
