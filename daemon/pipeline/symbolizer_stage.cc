#include "daemon/pipeline/symbolizer_stage.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace profd::pipeline {

SymbolizerStage::SymbolizerStage(symbolize::Symbolizer& symbolizer, StageCounters& counters,
                                 Finder finder, const Limits& limits)
    : counters_(counters),
      idle_frames_(limits.idle_frames),
      forget_at_(limits.idle_frames),
      symbolizer_(symbolizer, frames_),
      builders_(counters, frames_, std::move(finder), limits.session) {}

void SymbolizerStage::Handle(PipelineItem&& item) {
  std::visit([&](auto&& what) { On(std::forward<decltype(what)>(what), item.process); },
             std::move(item.what));
}

void SymbolizerStage::On(process::Sample&& sample, const process::ProcessInfoRef& process) {
  if ((sample.sessions & builders_.active()) == 0) return counters_.unwanted_items.Add();
  counters_.samples_delivered.Add();
  const auto detail = builders_.DetailFor(sample.sessions);
  builders_.AddSample(symbolizer_.Symbolize(std::move(sample), detail), process);
}

template <typename Event>
void SymbolizerStage::On(Event&& event, const process::ProcessInfoRef& process) {
  builders_.AddEvent(event, process);
}

void SymbolizerStage::On(wire::CountersEvent&& event, const process::ProcessInfoRef& /*process*/) {
  builders_.SetCounters(std::move(event.values));
}

void SymbolizerStage::On(wire::PeriodsEvent&& event, const process::ProcessInfoRef& /*process*/) {
  builders_.SetPeriods(event);
}

void SymbolizerStage::On(wire::LabelProcessEvent&& /*event*/,
                         const process::ProcessInfoRef& process) {
  builders_.UpdateProcess(process);
}

void SymbolizerStage::On(wire::SessionEvent&& event, const process::ProcessInfoRef& /*process*/) {
  const std::uint64_t before = builders_.active();
  if (event.end)
    builders_.End(event);
  else
    builders_.Begin(event);
  if ((before & ~builders_.active()) != 0) ForgetAfterEnd();
}

void SymbolizerStage::Fail(const Error& error) {
  builders_.Fail(error);
  symbolizer_.Clear();
}

// A daemon that always runs must not collect names forever. With no session, no builder holds a
// FrameId: all can go. The background session never lets that happen, so frames that only ended
// sessions had go when there are many.
void SymbolizerStage::ForgetAfterEnd() {
  if (builders_.active() == 0)
    symbolizer_.Clear();
  else if (frames_.size() > forget_at_)
    ForgetFrames();
}

void SymbolizerStage::ForgetFrames() {
  std::vector<bool> held(frames_.size());
  builders_.ForEachFrame([&](symbolize::FrameId id) { held[id] = true; });
  const auto to = symbolizer_.Retain([&](symbolize::FrameId id) { return held[id]; });
  builders_.RenumberFrames([&](symbolize::FrameId id) { return to[id]; });
  // Twice what is held, so that the work stays in proportion to what is new.
  forget_at_ = std::max(idle_frames_, 2 * frames_.size());
}

void SymbolizerStage::AccountForMemory(budget::MemoryAccount& frames,
                                       budget::MemoryAccount& sessions) {
  const auto bytes = [this] { return frames_.bytes() + symbolizer_.bytes(); };
  // What was in use a moment ago still is: not again until a quarter more has come.
  if (frames.TakeReclaimRequest() != 0 && bytes() > held_bytes_ + held_bytes_ / 4) {
    if (builders_.active() == 0)
      symbolizer_.Clear();
    else
      ForgetFrames();
    held_bytes_ = bytes();
  }
  frames.Set(bytes());
  sessions.Set(builders_.bytes());
}

}  // namespace profd::pipeline
