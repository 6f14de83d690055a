#include "daemon/pipeline/symbolizer_stage.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

namespace profd::pipeline {

using wire::ClockEvent;
using wire::CountersEvent;
using wire::ExecEvent;
using wire::ExitEvent;
using wire::ForkEvent;
using wire::PeriodsEvent;
using wire::SessionEvent;

namespace {

void ForgetLines(std::vector<symbolize::Frame>& frames) {
  for (symbolize::Frame& frame : frames) {
    frame.file.clear();
    frame.line = 0;
  }
}

}  // namespace

SymbolizerStage::SymbolizerStage(symbolize::Symbolizer& symbolizer, StageCounters& counters,
                                 Finder finder, const Limits& limits)
    : counters_(counters),
      finder_(std::move(finder)),
      limits_(limits),
      forget_at_(limits.idle_frames),
      symbolizer_(symbolizer, frames_) {}

template <typename Action>
void SymbolizerStage::ForEach(std::uint64_t sessions, const Action& action) {
  for (std::uint64_t left = sessions & active_; left != 0; left &= left - 1)
    action(*slots_[static_cast<std::size_t>(std::countr_zero(left))]);
}

void SymbolizerStage::Handle(PipelineItem&& item) {
  std::visit([&](auto&& what) { On(std::forward<decltype(what)>(what), item.process); },
             std::move(item.what));
}

void SymbolizerStage::On(process::Sample&& sample, const process::ProcessInfoRef& process) {
  if ((sample.sessions & active_) == 0) return counters_.unwanted_items.Add();
  counters_.samples_delivered.Add();
  auto detail = symbolize::Detail::kSymbols;
  ForEach(sample.sessions, [&](const Running& running) {
    const auto& spec = running.session->spec();
    if (spec.inlined || spec.lines) detail = symbolize::Detail::kSource;
  });
  const auto symbolized = symbolizer_.Symbolize(std::move(sample), detail);
  std::optional<symbolize::SymbolizedSample> outer;  // without inlined functions
  ForEach(symbolized.sample.sessions, [&](Running& running) {
    AddProcess(running, process);
    if (running.session->spec().inlined) return AddSample(running, symbolized);
    if (!outer) {
      outer = symbolized;
      std::erase_if(outer->frames, [this](auto id) { return frames_.At(id).inlined; });
    }
    AddSample(running, *outer);
  });
}

void SymbolizerStage::AddSample(Running& running, const symbolize::SymbolizedSample& sample) {
  if (running.dump) running.dump->AddSample(sample);
  running.builder.AddSample(sample);
}

void SymbolizerStage::AddProcess(Running& running, const process::ProcessInfoRef& process) {
  if (running.dump) running.dump->AddProcess(process);
  running.builder.AddProcess(process);
}

template <typename Event>
void SymbolizerStage::On(Event&& event, const process::ProcessInfoRef& process) {
  using Type = std::decay_t<Event>;
  ForEach(event.header.sessions, [&](Running& running) {
    AddProcess(running, process);
    if (running.dump) {
      if constexpr (std::is_same_v<Type, ClockEvent>) running.dump->AddClock(event);
      if constexpr (std::is_same_v<Type, ForkEvent>) running.dump->AddFork(event);
      if constexpr (std::is_same_v<Type, ExitEvent>) running.dump->AddExit(event);
    }
    if constexpr (std::is_same_v<Type, ClockEvent>) running.builder.AddClock(event);
    if constexpr (std::is_same_v<Type, ForkEvent>) running.builder.AddFork(event);
    if constexpr (std::is_same_v<Type, ExecEvent>) running.builder.AddExec(event);
    if constexpr (std::is_same_v<Type, ExitEvent>) running.builder.AddExit(event);
  });
}

void SymbolizerStage::On(CountersEvent&& event, const process::ProcessInfoRef& /*process*/) {
  counter_values_ = std::move(event.values);
  ForEach(active_, [&](Running& running) { running.builder.SetCounters(counter_values_); });
}

void SymbolizerStage::On(PeriodsEvent&& event, const process::ProcessInfoRef& /*process*/) {
  periods_ = event;
  SharePeriods();
}

void SymbolizerStage::On(SessionEvent&& event, const process::ProcessInfoRef& /*process*/) {
  if (event.session >= slots_.size()) return;
  if (event.end)
    End(event);
  else
    Begin(event);
}

void SymbolizerStage::Begin(const SessionEvent& event) {
  auto waiting = finder_(event);
  auto& slot = slots_[event.session];
  if (slot) {
    slot->session->Finish(Error{ErrorCode::kInternal, "the session's end was lost", ""});
    Close(slot);
  }
  if (!waiting.session) return;
  slot = std::make_unique<Running>(event, std::move(waiting), limits_.session);
  slot->dropped_before = Describe(counters_).dropped;
  if (!counter_values_.empty()) slot->builder.SetCounters(counter_values_);
  active_ |= std::uint64_t{1} << event.session;
  LinkNextSession(event);
  SharePeriods();
}

void SymbolizerStage::LinkNextSession(const SessionEvent& start) {
  const std::uint64_t own = std::uint64_t{1} << start.session;
  ForEach(start.header.sessions & ~own,
          [&](Running& running) { running.next_session = start.session; });
}

void SymbolizerStage::End(const SessionEvent& event) {
  auto& slot = slots_[event.session];
  if (!slot) return;
  if (slot->next_session && slots_[*slot->next_session])
    slots_[*slot->next_session]->builder.ContinueFrom(slot->builder, event);
  if (slot->session->abandoned()) {
    slot->session->Finish(Error{ErrorCode::kUnavailable, "nobody waits for this profile", ""});
    Close(slot);
    return;
  }
  for (const auto& now : Describe(counters_).dropped) {
    const auto& before = slot->dropped_before;
    const auto same = std::find_if(before.begin(), before.end(),
                                   [&](const auto& count) { return count.name == now.name; });
    slot->builder.AddDropped(now.name, now.text,
                             now.count - (same == before.end() ? 0 : same->count));
  }
  const auto lookup = [this](symbolize::FrameId id) -> const symbolize::Frame& {
    return frames_.At(id);
  };
  if (slot->dump) {
    auto dump = slot->dump->Build(lookup);
    if (!slot->session->spec().lines) ForgetLines(dump.frames);
    slot->session->FinishDump(std::make_shared<const aggregate::Dump>(std::move(dump)));
    Close(slot);
    return;
  }
  auto built = slot->builder.Build(event, lookup);
  if (!slot->session->spec().lines) ForgetLines(built.frames);
  auto profile = std::make_shared<const aggregate::Profile>(std::move(built));
  const auto& builder = slot->builder;
  slot->session->Report(builder.samples(), builder.lost(), builder.live_threads());
  slot->session->Finish(std::move(profile));
  Close(slot);
}

void SymbolizerStage::Close(Slot& slot) {
  active_ &= ~(std::uint64_t{1} << (&slot - slots_.data()));
  slot.reset();
  SharePeriods();
  // Nobody holds a FrameId any more: the time to forget what an always-on daemon has piled up.
  if (active_ == 0)
    symbolizer_.Clear();
  else if (frames_.size() > forget_at_)
    ForgetFrames();
}

void SymbolizerStage::ForgetFrames() {
  std::vector<bool> held(frames_.size());
  const auto hold = [&](symbolize::FrameId id) { held[id] = true; };
  ForEach(active_, [&](const Running& running) {
    running.builder.ForEachFrame(hold);
    if (running.dump) running.dump->ForEachFrame(hold);
  });
  const auto to = symbolizer_.Retain([&](symbolize::FrameId id) { return held[id]; });
  const auto number = [&](symbolize::FrameId id) { return to[id]; };
  ForEach(active_, [&](Running& running) {
    running.builder.RenumberFrames(number);
    if (running.dump) running.dump->RenumberFrames(number);
  });
  forget_at_ = std::max(limits_.idle_frames, 2 * frames_.size());
}

void SymbolizerStage::AccountForMemory(budget::MemoryShare& frames, budget::MemoryShare& sessions) {
  const auto bytes = [this] { return frames_.bytes() + symbolizer_.bytes(); };
  // Not again for what was in use a moment ago.
  if (frames.TakeReclaimRequest() != 0 && bytes() > held_bytes_ + held_bytes_ / 4) {
    if (active_ == 0)
      symbolizer_.Clear();
    else
      ForgetFrames();
    held_bytes_ = bytes();
  }
  frames.Set(bytes());
  std::uint64_t built = 0;
  ForEach(active_, [&](const Running& running) { built += running.builder.bytes(); });
  sessions.Set(built);
}

void SymbolizerStage::SharePeriods() {
  if (periods_) {
    ForEach(active_, [&](Running& running) { running.builder.SetEffectivePeriods(*periods_); });
    return;
  }
  std::uint64_t finest = std::numeric_limits<std::uint64_t>::max();
  ForEach(active_, [&](const Running& running) {
    const auto& start = running.builder.start();
    if ((start.mode & PROFD_SESSION_ON_CPU) != 0) finest = std::min(finest, start.on_cpu_period_ns);
    if (running.effective_on_cpu_period_ns != 0)
      finest = std::min(finest, running.effective_on_cpu_period_ns);
  });
  ForEach(active_, [&](Running& running) { running.builder.SetEffectiveOnCpuPeriod(finest); });
}

void SymbolizerStage::Report() {
  ForEach(active_, [](const Running& running) {
    const auto& builder = running.builder;
    running.session->Report(builder.samples(), builder.lost(), builder.live_threads());
    running.session->ReportTargetGone(builder.target_gone());
  });
}

void SymbolizerStage::Fail(const Error& error) {
  for (auto& slot : slots_) {
    if (!slot) continue;
    slot->session->Finish(error);
    Close(slot);
  }
}

}  // namespace profd::pipeline
