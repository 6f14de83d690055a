#include "daemon/source/sessions/thread_ends.h"

#include <thread>

#include "daemon/source/bpf/control_word.h"

namespace profd::source {

void ThreadEnds::Await() const {
  constexpr std::chrono::microseconds kStep{500};
  profd_control& control = objects_.control();
  // Those that begin to exit from here on are counted elsewhere.
  const std::uint64_t slot = control.exit_slot;
  StoreControl(control.exit_slot, slot ^ 1);
  const auto until = std::chrono::steady_clock::now() + kLongest;
  while (objects_.exiting(slot) > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(kStep);
}

}  // namespace profd::source
