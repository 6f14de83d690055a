// Puppet: a child process that does what a test tells it, when it is told.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace profd::source {

// The child runs `body`, which talks to the test by two pipes, and ends. Made by fork, so that the
// test knows what it runs to the instruction; make it while the test has no other threads, or let
// the body do without locks. The destructor kills and reaps it. Owned by the test.
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
  // What the body said next: `count` numbers. Zeros when it has ended.
  [[nodiscard]] std::vector<std::uint64_t> Hear(std::size_t count) const;
  // Waits for the end; true when it ended by itself with status 0.
  bool Join();
  // Until the kernel shows it in this state ('S' sleeping, 'Z' ended and not reaped), or it has
  // ended.
  void AwaitState(char state) const;
  // The same for each of the threads that it has now.
  void AwaitStateOfAll(char state) const;

 private:
  pid_t pid_ = -1;
  UniqueFd to_;
  UniqueFd from_;
};

// Clocks by which a puppet knows its truth.
[[nodiscard]] std::uint64_t MonotonicNs();
[[nodiscard]] std::uint64_t ThreadCpuNs();
// Computes until the calling thread has used `ns` more of CPU.
void Spin(std::uint64_t ns);
[[nodiscard]] std::uint32_t ThreadId();

}  // namespace profd::source
