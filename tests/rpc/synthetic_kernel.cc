#include "tests/rpc/synthetic_kernel.h"

#include <algorithm>
#include <thread>

namespace profd::test {
namespace {

constexpr std::uint64_t kUserBase = 0x400000;

std::uint64_t Shift(const SyntheticKernel::Thread& thread) { return thread.tid * 777'777ull; }

}  // namespace

profd_event SyntheticKernel::Header(const Thread& thread, std::uint64_t time_ns,
                                    std::uint64_t sessions) const {
  auto header = RawHeader(time_ns, thread.pid, thread.tid);
  header.sessions = sessions;
  return header;
}

bool SyntheticKernel::Matches(const Session& session, const Thread& thread) const {
  const auto& target = session.spec.target;
  if (target.uid && *target.uid != thread.uid) return false;
  const auto named = [&](std::uint32_t id) {
    return std::find(target.ids.begin(), target.ids.end(), id) != target.ids.end();
  };
  if (target.kind == session::TargetKind::kPids) return named(thread.pid);
  if (target.kind == session::TargetKind::kTids) return named(thread.tid);
  return true;
}

profd_clock SyntheticKernel::TotalsAt(const Thread& thread, std::uint64_t time_ns) const {
  const std::uint64_t shifted = time_ns + Shift(thread);
  profd_clock totals{};
  totals.on_cpu_ns = shifted / kCycleNs * kOnCpuNs + std::min(shifted % kCycleNs, kOnCpuNs);
  totals.blocked_ns[PROFD_INTERRUPTIBLE] = shifted - totals.on_cpu_ns;
  return totals;
}

void SyntheticKernel::PutClock(const Thread& thread, std::uint64_t sessions, bool end,
                               std::uint64_t time_ns) {
  profd_clock_event clock{};
  clock.event = Header(thread, time_ns, sessions);
  clock.epoch = epoch_;
  clock.epoch_ns = epoch_ns_;
  clock.begin_ns = 1;
  const std::uint64_t phase = (epoch_ns_ + Shift(thread)) % kCycleNs;
  clock.state = end                ? PROFD_STATE_DEAD
                : phase < kOnCpuNs ? PROFD_STATE_ON_CPU
                                   : PROFD_STATE_BLOCKED;
  clock.since_ns = epoch_ns_ - (phase < kOnCpuNs ? phase : phase - kOnCpuNs);
  clock.at_epoch = TotalsAt(thread, epoch_ns_);
  clock.final = end ? TotalsAt(thread, time_ns) : clock.at_epoch;
  ("thread " + std::to_string(thread.tid)).copy(clock.comm, sizeof(clock.comm) - 1);
  ready_.push_back(RawEventBytes(end ? PROFD_EVENT_THREAD_END : PROFD_EVENT_CLOCK, clock));
}

void SyntheticKernel::PutSession(profd_event_kind kind, const Session& session, std::uint32_t slot,
                                 std::uint64_t follows) {
  profd_session_event event{};
  event.event.time_ns = kind == PROFD_EVENT_SESSION_START ? epoch_ns_ : clock_.MonotonicNs();
  event.event.sessions = std::uint64_t{1} << slot | follows;
  event.session = slot;
  event.mode = (session.spec.on_cpu ? 1u : 0u) | (session.spec.off_cpu ? 2u : 0u);
  event.epoch = epoch_;
  event.epoch_ns = epoch_ns_;
  event.on_cpu_period_ns = session.spec.on_cpu_period_ns;
  event.off_cpu_period_ns = session.spec.off_cpu_period_ns;
  event.hook = 1;
  const auto target = session::FormatTarget(session.spec.target);
  event.target_bytes = static_cast<__u32>(target.size());
  ready_.push_back(RawEventBytes(kind, event, target));
}

void SyntheticKernel::PutSamples(Session& session, std::uint32_t slot, std::uint64_t until_ns) {
  for (const auto& thread : threads_) {
    if (!Matches(session, thread)) continue;
    const auto ended = ended_.find(thread.tid);
    const std::uint64_t until =
        ended == ended_.end() ? until_ns : std::min(until_ns, ended->second);
    // A cycle begins where (time + shift) is a multiple of its length.
    const std::uint64_t shift = Shift(thread);
    for (std::uint64_t cycle = (session.reported_until_ns + shift) / kCycleNs;
         (cycle + 1) * kCycleNs - shift <= until; ++cycle) {
      const std::uint64_t begin_ns = cycle * kCycleNs - shift;
      profd_sample_event sample{};
      sample.event = Header(thread, begin_ns + kOnCpuNs / 2, std::uint64_t{1} << slot);
      sample.period_ns = kOnCpuNs;
      sample.syscall = -1;
      sample.user_frames = 2;
      if (session.spec.on_cpu)
        ready_.push_back(
            RawEventBytes(PROFD_EVENT_ON_CPU, sample, RawNumbers({kUserBase + 1, kUserBase})));
      sample.event.time_ns = begin_ns + kCycleNs;
      sample.begin_ns = begin_ns + kOnCpuNs;
      sample.period_ns = kBlockedNs;
      sample.blocked_points = 1;
      if (session.spec.off_cpu)
        ready_.push_back(
            RawEventBytes(PROFD_EVENT_OFF_CPU, sample, RawNumbers({kUserBase + 2, kUserBase})));
    }
  }
  session.reported_until_ns = std::max(session.reported_until_ns, until_ns);
}

Result<wire::PollStatus> SyntheticKernel::Poll(std::chrono::milliseconds timeout,
                                               const Sink& sink) {
  std::deque<EventBytes> events;
  for (int attempt = 0; attempt < 2 && events.empty(); ++attempt) {
    if (attempt == 1) std::this_thread::sleep_for(std::min(timeout, std::chrono::milliseconds(5)));
    const std::scoped_lock lock(mutex_);
    if (broken_) return Error{ErrorCode::kIo, "the ring is gone", ""};
    for (auto& [slot, session] : sessions_) PutSamples(session, slot, clock_.MonotonicNs());
    events.swap(ready_);
  }
  for (const auto& event : events) sink(wire::RawEvent{event});
  return events.empty() ? wire::PollStatus::kTimeout : wire::PollStatus::kEvents;
}

Result<session::StartedSession> SyntheticKernel::StartSession(const session::SessionSpec& spec) {
  const std::scoped_lock lock(mutex_);
  Session session{spec, 0};
  const auto alive = [&](const Thread& thread) {
    return Matches(session, thread) && !ended_.contains(thread.tid);
  };
  if (std::none_of(threads_.begin(), threads_.end(), alive))
    return Error{ErrorCode::kNotFound, "no such process", "see `ps`"};
  const std::uint32_t slot = next_slot_++ % PROFD_MAX_SESSIONS;
  ++epoch_;
  epoch_ns_ = session.reported_until_ns = clock_.MonotonicNs();
  PutSession(PROFD_EVENT_SESSION_START, session, slot);
  for (const auto& thread : threads_)
    if (alive(thread)) PutClock(thread, std::uint64_t{1} << slot, false, epoch_ns_ + 1);
  sessions_.emplace(slot, session);
  return session::StartedSession{slot, session.reported_until_ns};
}

Result<void> SyntheticKernel::StopSession(std::uint32_t slot) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(slot);
  if (found == sessions_.end()) return Error{ErrorCode::kNotFound, "no such session", ""};
  ++epoch_;
  epoch_ns_ = clock_.MonotonicNs();
  PutSamples(found->second, slot, epoch_ns_);
  for (const auto& thread : threads_)
    if (Matches(found->second, thread) && !ended_.contains(thread.tid))
      PutClock(thread, std::uint64_t{1} << slot, false, epoch_ns_ + 1);
  PutSession(PROFD_EVENT_SESSION_END, found->second, slot);
  sessions_.erase(found);
  return {};
}

Result<session::StartedSession> SyntheticKernel::RollSession(std::uint32_t session) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return Error{ErrorCode::kNotFound, "no such session", ""};
  const std::uint32_t slot = next_slot_++ % PROFD_MAX_SESSIONS;
  const std::uint64_t old_bit = std::uint64_t{1} << session;
  const std::uint64_t new_bit = std::uint64_t{1} << slot;
  ++epoch_;
  epoch_ns_ = clock_.MonotonicNs();
  PutSamples(found->second, session, epoch_ns_);
  Session next{found->second.spec, epoch_ns_};
  PutSession(PROFD_EVENT_SESSION_START, next, slot, old_bit);
  for (const auto& thread : threads_)
    if (Matches(next, thread) && !ended_.contains(thread.tid))
      PutClock(thread, old_bit | new_bit, false, epoch_ns_ + 1);
  PutSession(PROFD_EVENT_SESSION_END, found->second, session);
  sessions_.erase(found);
  sessions_.emplace(slot, next);
  return session::StartedSession{slot, epoch_ns_};
}

session::SourceStatus SyntheticKernel::Status() const {
  session::SourceStatus status;
  status.levels.kernel_release = "synthetic";
  status.levels.hook = "sched_exit_tp";
  status.online_cpus = 2;
  return status;
}

void SyntheticKernel::Kill(std::uint32_t pid) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now_ns = clock_.MonotonicNs();
  for (auto& [slot, session] : sessions_) PutSamples(session, slot, now_ns);
  for (const auto& thread : threads_) {
    if (thread.pid != pid || ended_.contains(thread.tid)) continue;
    ended_[thread.tid] = now_ns;
    std::uint64_t members = 0;
    for (const auto& [slot, session] : sessions_)
      if (Matches(session, thread)) members |= std::uint64_t{1} << slot;
    PutClock(thread, members, true, now_ns);
  }
}

void SyntheticKernel::Break() {
  const std::scoped_lock lock(mutex_);
  broken_ = true;
}

std::size_t SyntheticKernel::running() const {
  const std::scoped_lock lock(mutex_);
  return sessions_.size();
}

}  // namespace profd::test
