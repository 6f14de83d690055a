#include "daemon/pipeline/session_builders.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "daemon/aggregate/thread_groups.h"
#include "daemon/wire/event_names.h"

namespace profd::pipeline {

using wire::ClockEvent;
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

symbolize::Detail SessionBuilders::DetailFor(std::uint64_t sessions) const {
  auto detail = symbolize::Detail::kSymbols;
  ForEach(sessions, [&](const Running& running) {
    const auto& spec = running.session->spec();
    if (spec.inlined || spec.lines) detail = symbolize::Detail::kSource;
  });
  return detail;
}

void SessionBuilders::AddSample(const symbolize::SymbolizedSample& symbolized,
                                const process::ProcessInfoRef& process) {
  const auto add = [](Running& running, const symbolize::SymbolizedSample& sample) {
    if (running.dump) running.dump->AddSample(sample);
    running.builder.AddSample(sample);
  };
  // A frame is named once for all sessions, as the most detailed request needs it. Sessions without
  // inlined functions share a copy, which is made for the first of them.
  std::optional<symbolize::SymbolizedSample> outer;
  ForEach(symbolized.sample.sessions, [&](Running& running) {
    AddProcess(running, process);
    if (running.session->spec().inlined) return add(running, symbolized);
    if (!outer) {
      outer = symbolized;
      std::erase_if(outer->frames, [this](auto id) { return frames_.At(id).inlined; });
    }
    add(running, *outer);
  });
}

void SessionBuilders::AddProcess(Running& running, const process::ProcessInfoRef& process) {
  if (running.dump) running.dump->AddProcess(process);
  running.builder.AddProcess(process);
  if (running.cpu_limits) running.cpu_limits->Add(process);
}

template <typename Event>
void SessionBuilders::AddEvent(const Event& event, const process::ProcessInfoRef& process) {
  ForEach(event.header.sessions, [&](Running& running) {
    AddProcess(running, process);
    if (running.dump) {
      if constexpr (std::is_same_v<Event, ClockEvent>) running.dump->AddClock(event);
      if constexpr (std::is_same_v<Event, ForkEvent>) running.dump->AddFork(event);
      if constexpr (std::is_same_v<Event, ExitEvent>) running.dump->AddExit(event);
    }
    if constexpr (std::is_same_v<Event, ClockEvent>) running.builder.AddClock(event);
    if constexpr (std::is_same_v<Event, ForkEvent>) running.builder.AddFork(event);
    if constexpr (std::is_same_v<Event, ExecEvent>) running.builder.AddExec(event);
    if constexpr (std::is_same_v<Event, wire::BeyondShareEvent>)
      running.builder.AddBeyondShare(event);
    if constexpr (std::is_same_v<Event, wire::StepEvent>) running.builder.AddStep(event);
    if constexpr (std::is_same_v<Event, wire::StepSourceEvent>)
      running.builder.AddStepSource(event);
    if constexpr (std::is_same_v<Event, wire::SwitchEvent>) running.builder.AddSwitch(event);
    if constexpr (std::is_same_v<Event, wire::WakeEvent>) running.builder.AddWake(event);
    if constexpr (std::is_same_v<Event, wire::PmuEvent>) running.builder.AddPmu(event);
    if constexpr (std::is_same_v<Event, ExitEvent>) running.builder.AddExit(event);
  });
}

template void SessionBuilders::AddEvent(const ClockEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const ForkEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const ExecEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const ExitEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const wire::SwitchEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const wire::WakeEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const wire::PmuEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const wire::StepEvent&, const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const wire::StepSourceEvent&,
                                        const process::ProcessInfoRef&);
template void SessionBuilders::AddEvent(const wire::BeyondShareEvent&,
                                        const process::ProcessInfoRef&);

void SessionBuilders::UpdateProcess(const process::ProcessInfoRef& process) {
  ForEach(active_, [&](Running& running) { running.builder.UpdateProcess(process); });
}

void SessionBuilders::SetCounters(std::vector<std::uint64_t> values) {
  counter_values_ = std::move(values);
  ForEach(active_, [&](Running& running) { running.builder.SetCounters(counter_values_); });
}

void SessionBuilders::SetPeriods(const PeriodsEvent& event) {
  periods_ = event;
  SharePeriods();
}

void SessionBuilders::Begin(const SessionEvent& event) {
  if (event.session >= slots_.size()) return;  // the event is hostile
  auto waiting = finder_(event);
  auto& slot = slots_[event.session];
  if (slot) {
    // The kernel reuses a number only after the end of its session, so the end event was lost.
    slot->session->Finish(Error{ErrorCode::kInternal, "the session's end was lost", ""});
    Close(slot);
  }
  if (!waiting.session) return;  // its start has failed meanwhile
  slot = std::make_unique<Running>(event, std::move(waiting), limits_);
  slot->dropped_before = Describe(counters_).dropped;
  if (!counter_values_.empty()) slot->builder.SetCounters(counter_values_);
  active_ |= std::uint64_t{1} << event.session;
  LinkNextSession(event);
  SharePeriods();
}

// The start event of a session that continues others also belongs to those.
void SessionBuilders::LinkNextSession(const SessionEvent& start) {
  const std::uint64_t own = std::uint64_t{1} << start.session;
  ForEach(start.header.sessions & ~own,
          [&](Running& running) { running.next_session = start.session; });
}

void SessionBuilders::End(const SessionEvent& event) {
  if (event.session >= slots_.size()) return;
  auto& slot = slots_[event.session];
  if (!slot) return;  // its start event was lost
  // Also for an abandoned session: the next one needs the stacks of threads that stay blocked.
  if (slot->next_session && slots_[*slot->next_session])
    slots_[*slot->next_session]->builder.ContinueFrom(slot->builder, event);
  // To build a profile costs much; without a caller it would be wasted.
  if (slot->session->abandoned())
    slot->session->Finish(
        Error{ErrorCode::kUnavailable, "the client has left: this profile is not built", ""});
  else
    Finish(*slot, event);
  Close(slot);
}

// The last samples of a session get their names after its end. Who goes beyond a share only then is
// not among those whom the source names at the end.
void SessionBuilders::AddBeyondShares(Running& running, std::uint64_t time_ns) {
  if (!running.beyond_shares) return;
  const auto& uid = running.session->spec().target.uid;
  for (const budget::BeyondShare& beyond :
       budget::BeyondSince(running.beyond_before, running.beyond_shares())) {
    wire::BeyondShareEvent event;
    event.kind = static_cast<profd_share_kind>(beyond.key.kind);
    const bool of_user = wire::IsOfUser(event.kind);
    // A session of one user does not say what other users do.
    if (of_user && uid && *uid != beyond.key.id) continue;
    event.header.time_ns = time_ns;
    event.header.process.pid = of_user ? 0 : beyond.key.id;
    event.uid = of_user ? beyond.key.id : 0;
    event.count = beyond.count;
    running.builder.AddBeyondShare(event);
  }
}

void SessionBuilders::Finish(Running& running, const SessionEvent& end) const {
  AddDropped(running);
  AddBeyondShares(running, end.header.time_ns);
  const auto lookup = [this](symbolize::FrameId id) -> const symbolize::Frame& {
    return frames_.At(id);
  };
  const bool lines = running.session->spec().lines;
  if (running.dump) {
    auto dump = running.dump->Build(lookup);
    if (!lines) ForgetLines(dump.frames);
    running.session->FinishDump(std::make_shared<const aggregate::Dump>(std::move(dump)));
    return;
  }
  auto profile = running.builder.Build(end, lookup);
  if (running.cpu_limits) running.cpu_limits->Describe(profile);
  // Frames have lines if another session requests them.
  if (!lines) ForgetLines(profile.frames);
  if (running.session->groups_short_lived())
    if (const auto grouped = aggregate::GroupShortLived(profile); !grouped.threads.empty())
      profile.counters.push_back(
          {"grouped_early", "short-lived threads without rows of their own: the history was slow",
           grouped.threads.size()});
  const auto& builder = running.builder;
  running.session->Report(builder.samples(), builder.lost(), builder.live_threads());
  running.session->Finish(std::make_shared<const aggregate::Profile>(std::move(profile)));
}

// The stages count since the start of profd; a profile has only the drops during its session.
void SessionBuilders::AddDropped(Running& running) const {
  const auto& before = running.dropped_before;
  for (const auto& now : Describe(counters_).dropped) {
    const auto same = std::find_if(before.begin(), before.end(),
                                   [&](const auto& count) { return count.name == now.name; });
    running.builder.AddDropped(now.name, now.text,
                               now.count - (same == before.end() ? 0 : same->count));
  }
}

void SessionBuilders::Close(Slot& slot) {
  active_ &= ~(std::uint64_t{1} << (&slot - slots_.data()));
  slot.reset();
  SharePeriods();
}

// The periods that the source reports are exact. Older recordings do not have these events; there
// the finest period that a running session requests is effective for all sessions.
void SessionBuilders::SharePeriods() {
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

void SessionBuilders::Report() {
  ForEach(active_, [](const Running& running) {
    const auto& builder = running.builder;
    running.session->Report(builder.samples(), builder.lost(), builder.live_threads());
    running.session->ReportTargetGone(builder.target_gone());
  });
}

void SessionBuilders::Fail(const Error& error) {
  for (auto& slot : slots_) {
    if (!slot) continue;
    slot->session->Finish(error);
    Close(slot);
  }
}

std::uint64_t SessionBuilders::bytes() const {
  std::uint64_t sum = 0;
  ForEach(active_, [&](const Running& running) { sum += running.builder.bytes(); });
  return sum;
}

void SessionBuilders::ForEachFrame(const std::function<void(symbolize::FrameId)>& visit) const {
  ForEach(active_, [&](const Running& running) {
    running.builder.ForEachFrame(visit);
    if (running.dump) running.dump->ForEachFrame(visit);
  });
}

void SessionBuilders::RenumberFrames(const aggregate::StackTree::FrameMap& to) {
  ForEach(active_, [&](Running& running) {
    running.builder.RenumberFrames(to);
    if (running.dump) running.dump->RenumberFrames(to);
  });
}

}  // namespace profd::pipeline
