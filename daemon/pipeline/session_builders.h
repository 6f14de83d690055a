// SessionBuilders: the profile builder of each running session, from its start event to its end
// event.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bpf/shared/limits.h"
#include "daemon/aggregate/dump_builder.h"
#include "daemon/aggregate/profile_builder.h"
#include "daemon/aggregate/stack_tree.h"
#include "daemon/base/named_count.h"
#include "daemon/base/result.h"
#include "daemon/pipeline/cpu_limit_watch.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/stage_counters.h"
#include "daemon/process/process_info.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "daemon/symbolize/sample/frame_table.h"
#include "daemon/symbolize/sample/symbolized_sample.h"
#include "daemon/wire/event.h"

namespace profd::pipeline {

// Job: gives each event to the builders of the sessions that it belongs to, and turns a builder
// into the result of its session when the session ends. Thread: the symbolizer thread; in a replay,
// the thread of the replay. Owner: SymbolizerStage, which also owns the frames that the builders
// refer to. Limits: it never forgets a frame itself; ForEachFrame says which ones are needed.
class SessionBuilders {
 public:
  // The session that a start event belongs to, and the origin that its profile states. Null:
  // nothing is collected.
  struct Waiting {
    std::shared_ptr<Session> session;
    aggregate::ProfileOrigin origin;
    // Replays: the finest period of the recorded on-CPU samples. 0: that of the running sessions.
    std::uint64_t effective_on_cpu_period_ns = 0;
    std::unique_ptr<CpuLimitWatch> cpu_limits = nullptr;  // null: they are not asked for
    // Of work for names, which may go on after the end of the session; null: none is known.
    BeyondShares beyond_shares = nullptr;
  };
  using Finder = std::function<Waiting(const wire::SessionEvent&)>;

  // `counters` and `frames` must outlive this.
  SessionBuilders(const StageCounters& counters, const symbolize::FrameTable& frames, Finder finder,
                  const aggregate::ProfileBuilder::Limits& limits)
      : counters_(counters), frames_(frames), finder_(std::move(finder)), limits_(limits) {}

  // Bit i: a session with number i runs.
  [[nodiscard]] std::uint64_t active() const { return active_; }
  // The most detailed request among these sessions.
  [[nodiscard]] symbolize::Detail DetailFor(std::uint64_t sessions) const;

  void AddSample(const symbolize::SymbolizedSample& sample, const process::ProcessInfoRef& process);
  // A clock, fork, exec or exit event.
  template <typename Event>
  void AddEvent(const Event& event, const process::ProcessInfoRef& process);
  // What is known of a process has changed: for sessions that have it.
  void UpdateProcess(const process::ProcessInfoRef& process);
  void SetCounters(std::vector<std::uint64_t> values);
  void SetPeriods(const wire::PeriodsEvent& event);

  void Begin(const wire::SessionEvent& event);
  void End(const wire::SessionEvent& event);
  // No more events will come: sessions that still run fail with this error.
  void Fail(const Error& error);
  // Reports progress to each running session.
  void Report();

  [[nodiscard]] std::uint64_t bytes() const;
  // Calls `visit` with each FrameId that a builder holds, once or more.
  void ForEachFrame(const std::function<void(symbolize::FrameId)>& visit) const;
  void RenumberFrames(const aggregate::StackTree::FrameMap& to);

 private:
  struct Running {
    Running(const wire::SessionEvent& start, Waiting waiting,
            const aggregate::ProfileBuilder::Limits& limits)
        : session(std::move(waiting.session)),
          builder(start, waiting.origin, limits),
          effective_on_cpu_period_ns(waiting.effective_on_cpu_period_ns),
          cpu_limits(std::move(waiting.cpu_limits)),
          beyond_shares(std::move(waiting.beyond_shares)) {
      if (beyond_shares) beyond_before = beyond_shares();
      if (session->spec().dump) dump.emplace(std::move(waiting.origin));
    }
    std::shared_ptr<Session> session;
    aggregate::ProfileBuilder builder;
    std::optional<aggregate::DumpBuilder> dump;  // if set, the result is the dump
    std::uint64_t effective_on_cpu_period_ns;
    std::unique_ptr<CpuLimitWatch> cpu_limits;
    BeyondShares beyond_shares;
    std::vector<budget::BeyondShare> beyond_before;  // when the session began
    std::vector<NamedCount> dropped_before;          // by the stages, before the session
    std::optional<std::uint32_t> next_session;       // the one that continues where this one ends
  };
  using Slot = std::unique_ptr<Running>;

  template <typename Action>
  void ForEach(std::uint64_t sessions, const Action& action) const {
    for (std::uint64_t left = sessions & active_; left != 0; left &= left - 1)
      action(*slots_[static_cast<std::size_t>(std::countr_zero(left))]);
  }
  static void AddProcess(Running& running, const process::ProcessInfoRef& process);
  void LinkNextSession(const wire::SessionEvent& start);
  void AddDropped(Running& running) const;
  static void AddBeyondShares(Running& running, std::uint64_t time_ns);
  void Finish(Running& running, const wire::SessionEvent& end) const;
  void Close(Slot& slot);
  void SharePeriods();

  const StageCounters& counters_;
  const symbolize::FrameTable& frames_;
  const Finder finder_;
  const aggregate::ProfileBuilder::Limits limits_;
  std::array<Slot, PROFD_MAX_SESSIONS> slots_;
  std::uint64_t active_ = 0;                   // bit i: slots_[i] is set
  std::vector<std::uint64_t> counter_values_;  // the latest of the BPF side
  std::optional<wire::PeriodsEvent> periods_;  // the latest
};

}  // namespace profd::pipeline
