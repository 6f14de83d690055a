// SymbolizerStage: the third and last stage of the pipeline. It names samples and owns the builders
// of sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "daemon/aggregate/profile_builder.h"
#include "daemon/base/result.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/pipeline/session_builders.h"
#include "daemon/pipeline/stage_counters.h"
#include "daemon/pipeline/stage_queue.h"
#include "daemon/symbolize/sample/frame_table.h"
#include "daemon/symbolize/sample/sample_symbolizer.h"

namespace profd::pipeline {

// Job: gives samples their frames, passes all items on to SessionBuilders, and forgets frames that
// no builder holds.
// Thread: the symbolizer thread; in a replay, the thread of the replay.
// Owner: LivePipeline or ReplayRun.
class SymbolizerStage {
 public:
  using Waiting = SessionBuilders::Waiting;
  using Finder = SessionBuilders::Finder;

  // When a session ends while others run, and there are more frames than this, the stage forgets
  // frames that no other session holds.
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
  // Reports progress to each running session.
  void Report() { builders_.Report(); }
  // Sets both accounts. Forgets addresses and frames that no builder holds if their account has a
  // reclaim request.
  void AccountForMemory(budget::MemoryAccount& frames, budget::MemoryAccount& sessions);
  // No more items will come: sessions that still run fail with this error.
  void Fail(const Error& error);
  [[nodiscard]] std::size_t frames() const { return frames_.size(); }

 private:
  void On(process::Sample&& sample, const process::ProcessInfoRef& process);
  void On(wire::SessionEvent&& event, const process::ProcessInfoRef& process);
  void On(wire::CountersEvent&& event, const process::ProcessInfoRef& process);
  void On(wire::PeriodsEvent&& event, const process::ProcessInfoRef& process);
  void On(wire::LabelProcessEvent&& event, const process::ProcessInfoRef& process);
  template <typename Event>
  void On(Event&& event, const process::ProcessInfoRef& process);
  void ForgetAfterEnd();
  void ForgetFrames();

  StageCounters& counters_;
  const std::size_t idle_frames_;
  std::size_t forget_at_;       // frames_.size()
  std::size_t held_bytes_ = 0;  // of addresses and frames, when some were last forgotten
  symbolize::FrameTable frames_;
  symbolize::SampleSymbolizer symbolizer_;
  SessionBuilders builders_;
};

}  // namespace profd::pipeline
