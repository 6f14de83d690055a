// Sessions: starts and ends sessions on the BPF side, and makes the events that say so.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bpf/shared/control.h"
#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/session/session_control.h"
#include "daemon/source/bpf/bpf_objects.h"
#include "daemon/source/bpf/share_map.h"
#include "daemon/source/observe/observers.h"
#include "daemon/source/perf/on_cpu_events.h"
#include "daemon/source/perf/pmu_events.h"
#include "daemon/source/perf/side_band.h"
#include "daemon/source/sessions/blocked_stacks.h"
#include "daemon/source/sessions/effective_periods.h"
#include "daemon/source/sessions/epochs.h"
#include "daemon/source/sessions/member_reader.h"
#include "daemon/source/sessions/membership.h"
#include "daemon/source/sessions/pending_events.h"
#include "daemon/source/sessions/session_table.h"
#include "daemon/source/sessions/stolen_ratio.h"
#include "daemon/source/sessions/thread_ends.h"
#include "daemon/source/steps/step_probes.h"

namespace profd::source {

// One session is started or ended at a time, because all share the control words and the epoch.
//
// | step                                                    | start | roll | end |
// | the target's filter is written, the side band is opened |   1   |  1   |     |
// | the assign iterator evaluates it for every thread       |   2   |  2   |     |
// | members are listed; PROCESS of each from /proc          |   3   |      |     |
// | places are watched at which steps begin                 |   3   |      |     |
// | of the first session with hardware counters they begin  |   0   |      |     |
// | an epoch is announced; COUNTERS, SESSION_START          |   4   |  3   |     |
// | an epoch is announced                                   |       |      |  1  |
// | the epoch passes; CLOCK of each member                  |   5   |  4   |  2  |
// | threads that are about to end do so: their THREAD_END   |       |  4   |  2  |
// | SNAPSHOT of members that are blocked; for a dump of all |       |  5   |  3  |
// | the session's bits are withdrawn                        |       |  6   |  4  |
// | COUNTERS (not by a roll), SESSION_END                   |       |  7   |  5  |
//
// A roll starts the next session at the epoch at which the last one ends, so its CLOCK events count
// for both. Its SNAPSHOT has only threads that were not blocked yet at the roll before; the others
// were reported then.
//
// Owned by BpfSource; all methods may be called from any thread. A start takes some ms and a /proc
// reading (100 us) per process; an end takes as long as the snapshot may
// (BlockedStacks::kTimeout), and before that as threads that are about to end may
// (ThreadEnds::kLongest).
class Sessions {
 public:
  // Switch hooks stay attached, and observers at work, for so long after the last session that
  // needed them: `profctl top` starts one session after the other.
  static constexpr std::chrono::seconds kStay{5};
  // A start waits this long for the unwind tables of its members.
  static constexpr std::chrono::milliseconds kTablesAtStart{200};

  // The maker of unwind tables; called with a lock held. Empty functions: there is none.
  struct Tables {
    std::function<void(BlockedStacks::For whom, const ProcessKey& process)> prefetch;
    // Until so many requests of the programs, since they were loaded, are done; for a session also
    // what is fetched ahead.
    BlockedStacks::Await await;
  };

  // What it works with; all of it outlives this.
  struct Parts {
    BpfObjects& objects;
    SideBand& side_band;
    OnCpuEvents& on_cpu_events;
    PmuEvents& pmu_events;
    PendingEvents& pending;
    const ProcFs& proc;
    const Clock& clock;
    reader::Readers& snapshots;  // answer by IteratorParsers
    reader::Readers& processes;  // answer by ProcessTextParsers
    reader::Readers& observers;  // answer by ObserverParsers
    profd_hook hook;
    // All counters: those of the programs and those of user space.
    std::function<std::vector<std::uint64_t>()> counters;
    // Who has reported more than a share.
    std::function<std::vector<BeyondShare>()> beyond_shares;
  };

  explicit Sessions(const Parts& parts);
  // Before the first session.
  void UseTables(Tables tables) {
    background_.UseTables(tables.await);
    tables_ = std::move(tables);
  }

  // Before the first session.
  void UseSteps(StepProbes::Tools tools) { steps_.UseTools(std::move(tools)); }
  // Any event of the source; the thread that polls.
  void NoteEvent(const wire::RawEvent& event) { steps_.Note(event); }
  [[nodiscard]] const Heartbeat& steps_heartbeat() const { return steps_.heartbeat(); }

  [[nodiscard]] Result<session::StartedSession> Start(const session::SessionSpec& requested);
  [[nodiscard]] Result<void> Stop(std::uint32_t session);
  // See SessionControl::RollSession.
  [[nodiscard]] Result<session::StartedSession> Roll(std::uint32_t session);

  // Whose user stacks of blocked threads were left out. Any thread.
  [[nodiscard]] std::vector<BeyondShare> BeyondShares() const { return background_.BeyondShares(); }
  // As in SessionControl; both wait for a session's start or end.
  [[nodiscard]] session::BudgetReading Budget();
  void SetPeriodFactors(const session::PerKind<session::PeriodFactors>& factors);
  [[nodiscard]] bool RefuseHooks(bool refuse);

  // What must be done while sessions run: call it often. Threads of processes that have moved to
  // another cgroup join sessions, or leave them; a process in which an observer hangs is left
  // alone; the switch hooks are detached some time after the last session that needs them. Any
  // thread; does not wait for a session's start or end.
  void Maintain();
  // Whether programs run at context switches now.
  [[nodiscard]] bool has_switch_hooks() const { return has_switch_hooks_; }
  // Whether this kernel offers snapshot mode.
  [[nodiscard]] bool can_observe() const { return observers_.supported(); }
  [[nodiscard]] std::string DescribeObservers() const { return observers_.Describe(); }

  [[nodiscard]] bool any_running() const { return running_.load(std::memory_order_relaxed) != 0; }
  // Of these, a requested one.
  [[nodiscard]] bool any_requested() const {
    return requested_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] std::uint64_t snapshot_timeouts() const { return background_.timeouts(); }
  [[nodiscard]] std::uint64_t malformed() const {
    return members_.malformed() + background_.malformed();
  }
  [[nodiscard]] std::uint64_t clocks_unread() const { return members_.clocks_unread(); }
  // CPU time of the observers: no program counts it.
  [[nodiscard]] session::PerKind<std::uint64_t> observers_ns() const { return observers_.cpu_ns(); }

 private:
  // With mutex_ held, as everything below.
  [[nodiscard]] Result<void> CheckSpec(const session::SessionSpec& spec) const;
  // Opens hardware counters if the session requests them; says in it which there are.
  [[nodiscard]] Result<void> OpenCounters(session::SessionSpec& spec);
  [[nodiscard]] Result<void> Enlist(std::uint32_t slot, const session::SessionSpec& spec);
  void NoteRunning();
  // Whether the session works in snapshot mode: as it was requested, or as it must.
  void AdoptMode(session::SessionSpec& spec) const;
  // Attaches the switch hooks if a session needs them, and gives every thread a clock.
  [[nodiscard]] Result<void> NeedSwitchHooks();
  // After the effective periods have changed.
  void FollowObservers();
  // Whether a session in snapshot mode follows no other one, whose stacks it would take over.
  void SetFirst(std::uint32_t slot, bool first);
  [[nodiscard]] Result<Epoch> Begin(std::uint32_t slot, const session::SessionSpec& spec);
  void Withdraw(std::uint32_t slot);

  void PrepareTables(BlockedStacks::For whom, std::span<const wire::EventBytes> processes);
  // An epoch, with the COUNTERS and the START that stand before it. `follows`: the session that
  // ends there, if one does.
  [[nodiscard]] Epoch AnnounceStart(std::uint32_t slot, const session::SessionSpec& spec,
                                    std::optional<std::uint32_t> follows);
  // What was left out of a session by now: BEYOND_SHARE for each who had more than a share.
  [[nodiscard]] std::vector<wire::EventBytes> BeyondShareEvents(
      std::uint32_t slot, const session::SessionSpec& spec) const;
  void PutFailedStart(std::uint32_t slot, const session::SessionSpec& spec, const Epoch& epoch);
  [[nodiscard]] wire::EventBytes SessionEvent(profd_event_kind kind, std::uint32_t slot,
                                              const session::SessionSpec& spec, const Epoch& epoch,
                                              std::uint64_t bpf_cost_ns,
                                              std::optional<std::uint32_t> follows = {}) const;

  // Before an epoch: its readings spread by the ratio. `stolen_ns` is PROFD_COUNTER_STOLEN_NS.
  void UpdateStolenRatio(std::uint64_t stolen_ns);

  const Parts parts_;
  std::mutex mutex_;
  Membership membership_;
  MemberReader members_;
  Epochs epochs_;
  ThreadEnds ends_;
  StolenRatio stolen_ratio_;
  SessionTable table_;
  std::map<std::uint32_t, BlockedStacks::Rolled> rolled_;  // by slot
  // By slot: what was beyond shares when the session began.
  std::map<std::uint32_t, std::vector<BeyondShare>> beyond_before_;
  EffectivePeriods periods_;
  session::PerKind<std::uint64_t> starts_;
  Tables tables_;
  BlockedStacks background_;
  Observers observers_;
  StepProbes steps_;
  std::chrono::steady_clock::time_point maintained_;
  std::chrono::steady_clock::time_point hooks_needed_;      // last
  std::chrono::steady_clock::time_point wakers_needed_;     // last
  std::chrono::steady_clock::time_point observers_needed_;  // last
  bool hooks_refused_ = false;  // to sessions that begin: they would cost too much
  std::atomic<bool> has_switch_hooks_ = false;
  std::atomic<std::uint64_t> running_ = 0;
  std::atomic<std::uint64_t> requested_ = 0;
};

}  // namespace profd::source
