// Gdb: the stacks of a process as gdb unwinds them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "tests/support/subprocess.h"

namespace profd::gdb {

// How often a thread has left the CPU: the same numbers at two instants mean that it has not run
// in between.
struct Switches {
  std::uint64_t voluntary = 0;
  std::uint64_t involuntary = 0;
  friend bool operator==(const Switches&, const Switches&) = default;
};
// By tid; of the threads that are there.
[[nodiscard]] std::map<std::uint32_t, Switches> ReadSwitches(std::uint32_t pid);

struct GdbThread {
  Switches before;  // just before gdb attaches
  Switches after;   // when all threads stand still
  std::string ended_by;
  std::vector<std::uint64_t> frames;  // leaf first, physical ones: inlined functions have none

  // Its only departure was that for gdb, so it was stopped in the wait that it was in before.
  [[nodiscard]] bool stood_still() const { return after.voluntary == before.voluntary + 1; }
};

// Stops the process for as long as it looks. Used once. Owned by a test.
class Gdb {
 public:
  // Starts gdb, as that takes longest; it does not touch the process yet.
  [[nodiscard]] static Result<Gdb> Start(std::uint32_t pid);
  [[nodiscard]] Result<std::map<std::uint32_t, GdbThread>> ReadStacks();

 private:
  explicit Gdb(testing::Subprocess program) : program_(std::move(program)) {}
  testing::Subprocess program_;
};

}  // namespace profd::gdb
