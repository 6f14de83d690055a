#include "daemon/aggregate/observed_stacks.h"

#include <algorithm>
#include <limits>

#include "bpf/shared/events.h"
#include "daemon/base/keys.h"

namespace profd::aggregate {
namespace {

std::uint64_t PlaceOf(const process::Sample& sample) {
  std::uint64_t hash = sample.observation->registers;
  for (const std::uint64_t argument : sample.syscall_args) hash = MixBits(hash ^ argument);
  return hash;
}

}  // namespace

void ObservedStacks::OnSample(std::uint32_t thread, const process::Sample& sample,
                              std::optional<std::uint32_t> part, std::span<SamplePart> parts) {
  Thread& state = At(thread);
  const bool own = Advance(state, sample, parts);
  state.in_session = state.in_session || sample.time_ns >= start_ns_;
  if (!part) return;
  entries_.push_back({.part = *part,
                      .syscall = sample.syscall,
                      .number = sample.observation->stack_number,
                      .place = PlaceOf(sample),
                      .period_ns = sample.period_ns});
  if (own) SetPart(state, *part, parts);
}

bool ObservedStacks::Advance(Thread& thread, const process::Sample& sample,
                             std::span<SamplePart> parts) {
  const std::uint64_t number = sample.observation->stack_number;
  const std::uint64_t held_ns = sample.observation->held_ns;
  if (!thread.seen) {
    thread = {.number = number, .held_ns = held_ns, .seen = true};
    return true;
  }
  if (number < thread.number) return false;
  if (number == thread.number) {
    // A sample without a stack of its own has the number of the one before.
    if (thread.part != kNoPart || (sample.stack_flags & PROFD_STACK_MOVED) != 0) {
      Grow(thread, held_ns, parts);
      return false;
    }
    // A clock is read later than its time says, so it can be the first to have this number.
    if (sample.time_ns >= start_ns_)
      thread.grown_ns = std::min(kMaxWeightNs, thread.held_ns - std::min(held_ns, thread.held_ns));
    return true;
  }
  if (number == thread.number + 1) Grow(thread, held_ns, parts);
  if (thread.number == thread.missing_number) thread.missing_grown_ns = thread.grown_ns;
  thread.number = number;
  thread.held_ns = std::max(held_ns, thread.held_ns);
  thread.grown_ns = 0;
  thread.part = kNoPart;
  return true;
}

void ObservedStacks::OnClock(std::uint32_t thread, const wire::ClockEvent& event,
                             std::span<SamplePart> parts) {
  Thread& state = At(thread);
  const std::uint64_t number = event.observation->stack_number;
  const std::uint64_t held_ns = event.observation->held_ns;
  if (!state.seen) {
    state = {.number = number, .held_ns = held_ns, .seen = true, .missing_number = number};
  } else if (number == state.number) {
    Grow(state, held_ns, parts);
  } else {
    // The sample of its stack comes yet, and has the total of its own moment; or it is lost.
    return;
  }
  state.in_session = state.in_session || event.header.time_ns >= start_ns_;
}

std::uint64_t ObservedStacks::Missing(std::uint32_t thread) const {
  return thread < threads_.size() ? threads_[thread].missing_number : 0;
}

void ObservedStacks::AddMissing(const Entry& entry, std::span<SamplePart> parts) {
  entries_.push_back(entry);
  SamplePart& part = parts[entry.part];
  Thread& thread = At(part.thread);
  if (thread.number == thread.missing_number)
    SetPart(thread, entry.part, parts);
  else
    Raise(part, 0, thread.missing_grown_ns);
  thread.missing_number = 0;
}

const ObservedStacks::Entry& ObservedStacks::EntryOf(std::uint32_t part) const {
  return *std::ranges::lower_bound(entries_, part, {}, &Entry::part);
}

ObservedStacks::Thread& ObservedStacks::At(std::uint32_t thread) {
  if (thread >= threads_.size()) threads_.resize(thread + std::size_t{1});
  return threads_[thread];
}

void ObservedStacks::Grow(Thread& thread, std::uint64_t held_ns, std::span<SamplePart> parts) {
  if (held_ns <= thread.held_ns) return;
  const std::uint64_t before_ns = thread.grown_ns;
  if (thread.in_session)
    thread.grown_ns =
        std::min(kMaxWeightNs, before_ns + std::min(kMaxWeightNs, held_ns - thread.held_ns));
  thread.held_ns = held_ns;
  if (thread.part != kNoPart) Raise(parts[thread.part], before_ns, thread.grown_ns);
}

void ObservedStacks::SetPart(Thread& thread, std::uint32_t part, std::span<SamplePart> parts) {
  thread.part = part;
  if (thread.number == thread.missing_number) thread.missing_number = 0;
  Raise(parts[part], 0, thread.grown_ns);
}

void ObservedStacks::Raise(SamplePart& part, std::uint64_t before_ns, std::uint64_t after_ns) {
  part.weight_ns = std::min(kMaxWeightNs, part.weight_ns + (after_ns - before_ns));
  if (period_ns_ == 0) return;
  // Rounded as a whole: what one event leaves over counts with the next.
  const std::uint64_t points = after_ns / period_ns_ - before_ns / period_ns_;
  part.count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(part.count + points, std::numeric_limits<std::uint32_t>::max()));
  points_ += points;
}

}  // namespace profd::aggregate
