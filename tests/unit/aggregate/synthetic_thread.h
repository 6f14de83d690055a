// A thread with a prepared life: the events that the BPF side would send, and the truth.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/aggregate/profile_builder.h"
#include "daemon/process/sample.h"
#include "daemon/symbolize/sample/symbolized_sample.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

struct Segment {
  process::State state = process::State::kOnCpu;
  std::uint64_t ns = 0;
  symbolize::FrameId frame = 0;  // all of the stack
};

// Segments follow each other from `begin_ns`. Off-CPU: blocked and the runnable that follows it are
// one interval with one stack, as the BPF side has them.
class SyntheticThread {
 public:
  SyntheticThread(ThreadKey key, ProcessKey process, std::uint64_t begin_ns)
      : key_(key), process_(process), begin_ns_(begin_ns), end_ns_(begin_ns) {}

  void Run(process::State state, std::uint64_t ns, symbolize::FrameId frame) {
    segments_.push_back({state, ns, frame});
    end_ns_ += ns;
  }
  [[nodiscard]] std::uint64_t end_ns() const { return end_ns_; }

  // Totals as of `time_ns`, which may be any instant.
  [[nodiscard]] profd_clock TotalsAt(std::uint64_t time_ns) const {
    profd_clock clock{};
    std::uint64_t begin = begin_ns_;
    for (const auto& segment : segments_) {
      const auto ns = begin >= time_ns ? 0 : std::min(segment.ns, time_ns - begin);
      begin += segment.ns;
      if (segment.state == process::State::kOnCpu) clock.on_cpu_ns += ns;
      if (segment.state == process::State::kRunnable) clock.runnable_ns[PROFD_AFTER_WAKEUP] += ns;
      if (segment.state == process::State::kBlocked) clock.blocked_ns[PROFD_INTERRUPTIBLE] += ns;
    }
    return clock;
  }

  [[nodiscard]] wire::EventHeader Header(std::uint64_t time_ns) const {
    wire::EventHeader header;
    header.time_ns = time_ns;
    header.process = process_;
    header.thread = key_;
    header.sessions = 1;
    return header;
  }

  [[nodiscard]] wire::ClockEvent ClockAt(std::uint64_t epoch, std::uint64_t epoch_ns) const {
    wire::ClockEvent event;
    event.header = Header(epoch_ns + 20'000);
    event.epoch = epoch;
    event.epoch_ns = epoch_ns;
    event.begin_ns = begin_ns_;
    event.at_epoch = event.final = TotalsAt(epoch_ns);
    event.comm = "synthetic";
    event.state = PROFD_STATE_DEAD;
    std::uint64_t begin = begin_ns_;
    for (const auto& segment : segments_) {
      if (epoch_ns >= begin && epoch_ns < begin + segment.ns) {
        event.state = static_cast<profd_thread_state>(segment.state);
        event.since_ns = begin;
      }
      begin += segment.ns;
    }
    return event;
  }

  [[nodiscard]] wire::ClockEvent EndEvent() const {
    auto event = ClockAt(0, 0);
    event.header = Header(end_ns_);
    event.end = true;
    event.at_epoch = {};
    event.final = TotalsAt(end_ns_);
    return event;
  }

  // Samples of the whole life, as taken at `period_ns` for on-CPU (random phase) and off-CPU (a
  // mark at a random place in every period of the thread's own off-CPU time), in order of time.
  [[nodiscard]] std::vector<symbolize::SymbolizedSample> Samples(std::uint64_t period_ns,
                                                                 std::mt19937_64& random) const;

 private:
  const ThreadKey key_;
  const ProcessKey process_;
  const std::uint64_t begin_ns_;
  std::uint64_t end_ns_;
  std::vector<Segment> segments_;
};

}  // namespace profd::aggregate
