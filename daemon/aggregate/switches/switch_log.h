// SwitchLog: collects the switches and wake-ups of one session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/switches/thread_switches.h"
#include "daemon/aggregate/weights/lifetime.h"
#include "daemon/base/keys.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Belongs to a ProfileBuilder and is used by its thread. Events come in order of time. Bounded;
// what is beyond the bounds is counted.
class SwitchLog {
 public:
  static constexpr std::size_t kMaxSwitches = 1'000'000;
  static constexpr std::size_t kMaxWakes = 100'000;  // of threads that have not come back yet

  // `thread`: what the caller numbers threads by.
  void Add(const wire::SwitchEvent& event, std::uint32_t thread);
  void Add(const wire::WakeEvent& event);

  // The switches of each thread, in order of time, inside of its life; with the one with which it
  // began, and the one from which it was not back at the end. `thread`: of Add. What of the clock
  // no event covers belongs to the first one.
  struct OfThread {
    std::vector<ThreadSwitch> switches;
    bool complete = false;
  };
  [[nodiscard]] OfThread Of(std::uint32_t thread, const Lifetime& life) const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Wake {
    std::uint64_t time_ns = 0;
    std::uint64_t begin_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    bool interrupt = false;
  };

  std::unordered_map<std::uint32_t, std::vector<ThreadSwitch>> switches_;  // by thread
  std::unordered_map<ThreadKey, Wake> wakes_;
  std::size_t count_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace profd::aggregate
