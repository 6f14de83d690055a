// PipelineItem: what the worker hands to the symbolizer thread.
#pragma once

#include <cstdint>
#include <variant>

#include "daemon/process/process_info.h"
#include "daemon/process/sample.h"
#include "daemon/wire/event.h"

namespace profd::pipeline {

// What one takes in a queue, about.
inline constexpr std::uint64_t kEventBytes = 1u << 10;  // between reader and worker
inline constexpr std::uint64_t kItemBytes = 2u << 10;   // between worker and symbolizer

// A sample, or an event that says what samples mean, in order of time, with what is known of its
// process at that moment (may be null).
struct PipelineItem {
  std::variant<process::Sample, wire::ClockEvent, wire::ForkEvent, wire::ExecEvent, wire::ExitEvent,
               wire::SessionEvent, wire::CountersEvent, wire::PeriodsEvent>
      what;
  process::ProcessInfoRef process;
};

// Only samples may be given up when a stage falls behind: without the others sums would be wrong.
[[nodiscard]] inline bool MayDrop(const PipelineItem& item) {
  return std::holds_alternative<process::Sample>(item.what);
}
[[nodiscard]] inline bool MayDrop(const wire::Event& event) {
  return std::holds_alternative<wire::StackEvent>(event);
}

}  // namespace profd::pipeline
