// SymbolizerStage: third and last stage of the pipeline: names, builders, profiles.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bpf/shared/limits.h"
#include "daemon/aggregate/dump_builder.h"
#include "daemon/aggregate/profile_builder.h"
#include "daemon/base/result.h"
#include "daemon/budget/memory_share.h"
#include "daemon/pipeline/pipeline_item.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/stage_counters.h"
#include "daemon/symbolize/sample/frame_table.h"
#include "daemon/symbolize/sample/sample_symbolizer.h"

namespace profd::pipeline {

// Has a builder for each session between its start and end events. Used by the symbolizer thread.
class SymbolizerStage {
 public:
  // Who waits for the session that begins with this event, and what its profile says of where it
  // comes from. Null: nobody; then it is not collected.
  struct Waiting {
    std::shared_ptr<Session> session;
    aggregate::ProfileOrigin origin;
    // Replays: the finest period that on-CPU samples were recorded with; 0: the running sessions'.
    std::uint64_t effective_on_cpu_period_ns = 0;
  };
  using Finder = std::function<Waiting(const wire::SessionEvent&)>;

  // How many frames are kept when a session ends while others run, before those are forgotten that
  // none of them has.
  static constexpr std::size_t kIdleFrames = 100'000;

  struct Limits {
    aggregate::ProfileBuilder::Limits session;
    std::size_t idle_frames = kIdleFrames;
  };

  // All must outlive this.
  SymbolizerStage(symbolize::Symbolizer& symbolizer, StageCounters& counters, Finder finder,
                  const Limits& limits);
  SymbolizerStage(symbolize::Symbolizer& symbolizer, StageCounters& counters, Finder finder)
      : SymbolizerStage(symbolizer, counters, std::move(finder), Limits{}) {}

  void Handle(PipelineItem&& item);
  // Tells every running session how far it is.
  void Report();
  // Tells what addresses with their frames, and what sessions hold; forgets addresses and frames
  // that nobody needs when asked to.
  void AccountForMemory(budget::MemoryShare& frames, budget::MemoryShare& sessions);
  // No more items will come: sessions that still run fail with this error.
  void Fail(const Error& error);
  [[nodiscard]] std::size_t frames() const { return frames_.size(); }

 private:
  struct Running {
    Running(const wire::SessionEvent& start, Waiting waiting,
            const aggregate::ProfileBuilder::Limits& limits)
        : session(std::move(waiting.session)),
          builder(start, waiting.origin, limits),
          effective_on_cpu_period_ns(waiting.effective_on_cpu_period_ns) {
      if (session->spec().dump) dump.emplace(std::move(waiting.origin));
    }
    std::shared_ptr<Session> session;
    aggregate::ProfileBuilder builder;
    std::optional<aggregate::DumpBuilder> dump;  // then only this is built in the end
    std::uint64_t effective_on_cpu_period_ns;
    std::vector<NamedCount> dropped_before;     // by the stages, when it began
    std::optional<std::uint32_t> next_session;  // the session that goes on where this one ends
  };
  using Slot = std::unique_ptr<Running>;

  void On(process::Sample&& sample, const process::ProcessInfoRef& process);
  void On(wire::SessionEvent&& event, const process::ProcessInfoRef& process);
  void On(wire::CountersEvent&& event, const process::ProcessInfoRef& process);
  void On(wire::PeriodsEvent&& event, const process::ProcessInfoRef& process);
  template <typename Event>
  void On(Event&& event, const process::ProcessInfoRef& process);
  template <typename Action>
  void ForEach(std::uint64_t sessions, const Action& action);

  static void AddProcess(Running& running, const process::ProcessInfoRef& process);
  static void AddSample(Running& running, const symbolize::SymbolizedSample& sample);
  void Begin(const wire::SessionEvent& event);
  void End(const wire::SessionEvent& event);
  void Close(Slot& slot);
  // A session that stands never lets all others end: frames that only the ended ones had must go.
  void ForgetFrames();
  void LinkNextSession(const wire::SessionEvent& start);
  // How often samples are taken: as the source says or, in recordings that do not have it, as the
  // finest of all running sessions asks for.
  void SharePeriods();

  StageCounters& counters_;
  const Finder finder_;
  const Limits limits_;
  std::size_t forget_at_;       // frames_.size()
  std::size_t held_bytes_ = 0;  // of addresses and frames, when some were last forgotten
  symbolize::FrameTable frames_;
  symbolize::SampleSymbolizer symbolizer_;
  std::array<Slot, PROFD_MAX_SESSIONS> slots_;
  std::uint64_t active_ = 0;                   // bit i: slots_[i] is set
  std::vector<std::uint64_t> counter_values_;  // the latest of the kernel side
  std::optional<wire::PeriodsEvent> periods_;  // the latest
};

}  // namespace profd::pipeline
