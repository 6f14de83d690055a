#include "daemon/source/bpf/hook_check.h"

#include <chrono>
#include <thread>

namespace profd::source {

Result<void> TestSwitchInHook(const BpfObjects& objects) {
  constexpr std::uint64_t kSleeps = 50;
  const auto before = objects.ReadCounters();
  // Made with the hooks attached: its clock runs from its first instruction.
  std::jthread([] {
    for (std::uint64_t i = 0; i < kSleeps; ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }).join();
  const auto after = objects.ReadCounters();
  const auto grown = [&](profd_counter counter) { return after[counter] - before[counter]; };
  if (grown(PROFD_COUNTER_STORAGE_FAILED) > 0)
    return Error{ErrorCode::kUnsupported, "no clock for the thread that tests the hook", ""};
  // Each of its switch-outs that had no switch-in before it is counted; other new threads of the
  // machine add to that only if the hook does not work.
  if (grown(PROFD_COUNTER_SWITCH_IN_MISSED) >= kSleeps / 2)
    return Error{ErrorCode::kUnsupported, "attached, but not hit", ""};
  return {};
}

}  // namespace profd::source
