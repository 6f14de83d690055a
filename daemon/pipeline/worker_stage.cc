#include "daemon/pipeline/worker_stage.h"

#include <type_traits>
#include <utility>
#include <variant>

namespace profd::pipeline {

WorkerStage::WorkerStage(StageCounters& counters, Sink sink, Selector selector)
    : counters_(counters),
      sink_(std::move(sink)),
      selector_(std::move(selector)),
      sampler_(table_),
      python_(counters.python),
      orderer_(wire::Orderer::Options{},
               [this](wire::Event&& event) { Handle(std::move(event)); }) {}

void WorkerStage::Push(wire::Event&& event) {
  orderer_.Push(std::move(event));
  CountOrder();
}

void WorkerStage::Advance(std::uint64_t now_ns) {
  orderer_.Advance(now_ns);
  CountProcesses();
}

void WorkerStage::Flush() {
  orderer_.Flush();
  CountOrder();
  CountProcesses();
}

void WorkerStage::CountOrder() {
  const auto order = orderer_.Counters();
  counters_.out_of_order.Set(order.late);
  counters_.order_crowded.Set(order.crowded);
}

void WorkerStage::CountProcesses() {
  const auto table = table_.Counters();
  counters_.processes.Set(table.processes);
  counters_.processes_evicted.Set(table.evicted_alive + table.evicted_early);
  counters_.mappings_refused.Set(table.mappings_refused + table.modules_refused);
  const auto sampler = sampler_.Counters();
  counters_.unknown_process.Set(sampler.unknown_process);
  counters_.unplaced_frames.Set(sampler.unplaced_frames);
}

void WorkerStage::Handle(wire::Event&& event) {
  table_.Apply(event);
  python_.Apply(event);
  const auto& header = wire::HeaderOf(event);
  const std::uint64_t sessions = selector_ ? selector_(event, table_) : header.sessions;
  auto process = table_.Info(header.process);
  std::visit(
      [&](auto&& typed) {
        using Type = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<Type, wire::StackEvent>) {
          if (sessions == 0) return counters_.unwanted_events.Add();
          typed.header.sessions = sessions;
          process::Sample sample = sampler_.Place(typed);
          python_.Merge(typed, sample);
          sink_({std::move(sample), std::move(process)});
        } else if constexpr (std::is_same_v<Type, wire::SessionEvent> ||
                             std::is_same_v<Type, wire::CountersEvent> ||
                             std::is_same_v<Type, wire::PeriodsEvent>) {
          sink_({std::forward<decltype(typed)>(typed), nullptr});
        } else if constexpr (std::is_same_v<Type, wire::LabelProcessEvent>) {
          sink_({std::forward<decltype(typed)>(typed), std::move(process)});
        } else if constexpr (std::is_same_v<Type, wire::ClockEvent> ||
                             std::is_same_v<Type, wire::ForkEvent> ||
                             std::is_same_v<Type, wire::ExecEvent> ||
                             std::is_same_v<Type, wire::BeyondShareEvent> ||
                             std::is_same_v<Type, wire::StepEvent> ||
                             std::is_same_v<Type, wire::StepSourceEvent> ||
                             std::is_same_v<Type, wire::SwitchEvent> ||
                             std::is_same_v<Type, wire::WakeEvent> ||
                             std::is_same_v<Type, wire::PmuEvent> ||
                             std::is_same_v<Type, wire::ExitEvent>) {
          if (sessions == 0) return;
          typed.header.sessions = sessions;
          sink_({std::forward<decltype(typed)>(typed), std::move(process)});
        }
      },
      std::move(event));
}

}  // namespace profd::pipeline
