// PrivateDaemon: a profd of our own, for one command.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "client/system/console.h"
#include "client/system/temp_files.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {

// Runs `profd --private --listen unix:PATH` in a directory that only we can enter. profd ends when
// its stdin does, so it outlives us by no more than its own shutdown, however we end. Owned by the
// command, on its thread.
class PrivateDaemon {
 public:
  // Waits until profd serves or has failed; its error becomes ours. `program` is its file. The
  // daemon gets `signal_mask` and a process group of its own: Ctrl-C is not meant for it.
  [[nodiscard]] static Result<std::unique_ptr<PrivateDaemon>> Start(const std::string& program,
                                                                    const sigset_t& signal_mask,
                                                                    Console& console,
                                                                    TempFiles& temp_files);
  PrivateDaemon(const PrivateDaemon&) = delete;
  PrivateDaemon& operator=(const PrivateDaemon&) = delete;
  // Asks profd to end and waits for it; after 10 s it is killed.
  ~PrivateDaemon();

  [[nodiscard]] const std::string& address() const { return address_; }
  // Removes the socket and its directory: one connection is all that is needed, and what is not
  // there cannot be left behind.
  void RemoveDirectory();
  // How it ended, if it has: "was killed by signal 9"; empty while it runs.
  [[nodiscard]] std::string HowItEnded();

 private:
  PrivateDaemon(Console& console, TempFiles& temp_files)
      : console_(console), temp_files_(temp_files) {}
  [[nodiscard]] Result<void> MakeDirectory();
  [[nodiscard]] Result<void> Spawn(const std::string& program, const sigset_t& signal_mask);
  [[nodiscard]] Result<void> WaitUntilReady();
  [[nodiscard]] bool WaitForEnd(int timeout_ms);  // -1: for ever
  [[nodiscard]] Error ErrorOfDaemon();
  void ReadWords(int fd);

  Console& console_;
  TempFiles& temp_files_;
  std::string directory_;
  std::string socket_;
  std::string address_;
  pid_t pid_ = -1;
  UniqueFd pid_fd_;
  UniqueFd stdin_;   // closing it ends the daemon
  UniqueFd stdout_;  // says "ready"
  int wait_status_ = 0;
  std::mutex words_mutex_;
  std::string words_;  // the last of what it said on stderr
  std::jthread words_thread_;
};

// profd beside the running program, else in PATH. kUnavailable when there is none.
[[nodiscard]] Result<std::string> FindDaemonProgram();

}  // namespace profd::client
