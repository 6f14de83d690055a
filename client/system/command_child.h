// CommandChild: the command behind `--`, profiled from its first instruction.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/system/invoking_user.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {

// fork -> waits on a pipe -> Release -> exec. Owned by the command `collect`, on its thread. If
// profctl ends before Release, the child ends without having run anything; afterwards it is a child
// like any other and outlives a profctl that is killed.
class CommandChild {
 public:
  // Forks. `command` is not empty; its program is looked up in PATH by the child. The child gets
  // `signal_mask`, and is run as `user` if there is one.
  [[nodiscard]] static Result<std::unique_ptr<CommandChild>> Fork(
      const std::vector<std::string>& command, const std::optional<InvokingUser>& user,
      const sigset_t& signal_mask);
  CommandChild(const CommandChild&) = delete;
  CommandChild& operator=(const CommandChild&) = delete;
  ~CommandChild();

  [[nodiscard]] pid_t pid() const { return pid_; }

  // From now on `on_exit` is called once when the child has ended, on a thread of this object.
  void Watch(std::function<void()> on_exit);
  // Lets the child exec. An error says why it could not, with the code kNotFound if there is no
  // such program.
  [[nodiscard]] Result<void> Release();
  // Sends a signal if the child is still there.
  void Kill(int signal) const;
  // Waits for the child to end; one that was not released ends now. waitpid's status.
  [[nodiscard]] int Wait();

 private:
  CommandChild() = default;

  pid_t pid_ = -1;
  std::string program_;
  UniqueFd pid_fd_;
  UniqueFd go_;     // written: exec; closed: end
  UniqueFd error_;  // errno of exec; end of file: it ran
  std::optional<int> wait_status_;
  std::jthread watcher_;
};

// The file that exec would run: `name` itself if it holds a slash, else looked up in `path`
// ($PATH). Empty when there is none. It may still not be executable.
[[nodiscard]] std::string FindProgram(const std::string& name, const std::string& path);

}  // namespace profd::client
