// SwitchTrace: every context switch and wake-up of the host, as the kernel's own tracer records
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::accuracy {

struct SwitchEvent {
  enum class Kind { kSwitch, kWaking, kWakeUp };
  Kind kind = Kind::kSwitch;
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC, in whole microseconds
  std::uint32_t tid = 0;      // the current thread; of a switch, the one that leaves the CPU
  bool interrupt = false;     // an interrupt or a softirq runs in its place
  std::uint32_t other = 0;    // of a switch, the thread that comes; else the one that is woken
  bool runnable = false;      // of a switch: the one that leaves still wants the CPU
};

// One recording, in a buffer of its own below tracefs, which is mounted in a temporary folder.
// Owned by one test. Needs root.
class SwitchTrace {
 public:
  [[nodiscard]] static Result<SwitchTrace> Start();
  SwitchTrace(SwitchTrace&& other) noexcept;
  SwitchTrace& operator=(SwitchTrace&&) = delete;
  ~SwitchTrace();

  // Ends it. In the order of time. kExhausted: the buffer was too small.
  [[nodiscard]] Result<std::vector<SwitchEvent>> Stop();

 private:
  SwitchTrace() = default;
  [[nodiscard]] std::string File(std::string_view name) const {
    return instance_ + "/" + std::string(name);
  }

  std::string mount_;     // a folder of this object's; "": none
  std::string instance_;  // below it; "": none
};

// A file `trace` of tracefs: lines of other events and what it says of itself are passed over.
[[nodiscard]] std::vector<SwitchEvent> ParseSwitches(std::string_view text);

}  // namespace profd::accuracy
