// Puppet: a child process that obeys the commands of a test, at the time that the test chooses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace profd::source {

// The child runs `body`, which talks to the test through two pipes, and exits. It is created by
// fork, so the test knows every instruction that it runs. Create it while the test has no other
// threads, or let the body use no locks. The destructor kills and reaps it. Owned by the test.
class Puppet {
 public:
  // What the body sees of the test.
  class Strings {
   public:
    Strings(int in, int out) : in_(in), out_(out) {}
    // Waits for the next Go(). Ends the process when the test is gone.
    void Wait() const;
    void Say(const std::vector<std::uint64_t>& numbers) const;

   private:
    int in_;
    int out_;
  };
  using Body = std::function<void(const Strings&)>;

  explicit Puppet(const Body& body);
  Puppet(const Puppet&) = delete;
  Puppet& operator=(const Puppet&) = delete;
  ~Puppet();

  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  void Go() const;
  // The next `count` numbers that the body says; zeros if it has exited.
  [[nodiscard]] std::vector<std::uint64_t> Hear(std::size_t count) const;
  // Waits for the exit; true: it exited by itself with status 0.
  bool Join();
  // Waits until the kernel shows it in this state ('S' sleeping, 'Z' ended and not reaped), or it
  // has ended.
  void AwaitState(char state) const;
  // The same for each of the threads that it has now.
  void AwaitStateOfAll(char state) const;
  // Waits until it has used `ns` of CPU since it began. False: not within a minute.
  [[nodiscard]] bool AwaitCpu(std::uint64_t ns) const;

 private:
  pid_t pid_ = -1;
  UniqueFd to_;
  UniqueFd from_;
};

// The clocks by which a puppet measures what it does.
[[nodiscard]] std::uint64_t MonotonicNs();
[[nodiscard]] std::uint64_t ThreadCpuNs();
// Computes until the calling thread has used `ns` more of CPU.
void Spin(std::uint64_t ns);
[[nodiscard]] std::uint32_t ThreadId();
// A body that spins for as long as each number says. After each Go() it says the CPU time of one.
[[nodiscard]] Puppet::Body SpinPhases(std::vector<std::uint64_t> spins_ns);

}  // namespace profd::source
