// StepLog: collects the step events of one session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/steps/step_events.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Belongs to a ProfileBuilder. Names and events may be made without end by a hostile program: both
// are bounded, and what is beyond the bounds is counted.
class StepLog {
 public:
  static constexpr std::size_t kMaxEvents = 1'000'000;
  static constexpr std::size_t kMaxNames = 10'000;

  void AddSource(const wire::StepSourceEvent& event);
  // `thread`: what the caller numbers threads by.
  void Add(const wire::StepEvent& event, std::uint32_t thread);

  [[nodiscard]] const StepEvents& steps() const { return steps_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::size_t bytes() const {
    constexpr std::size_t kNameBytes = 128;
    return steps_.events.capacity() * sizeof(StepEvent) + steps_.names.size() * kNameBytes;
  }

 private:
  // Beyond the bound: that of "[other]".
  [[nodiscard]] std::uint32_t NameIndex(std::string name);

  StepEvents steps_;
  std::unordered_map<std::string, std::uint32_t> name_index_;
  std::uint64_t dropped_ = 0;
};

}  // namespace profd::aggregate
