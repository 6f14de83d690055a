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
#include "daemon/base/proc_fs.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/session/session_control.h"
#include "daemon/source/bpf/bpf_objects.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/perf/on_cpu_events.h"
#include "daemon/source/perf/side_band.h"
#include "daemon/source/procfs/process_reader.h"
#include "daemon/source/sessions/blocked_stacks.h"
#include "daemon/source/sessions/effective_periods.h"
#include "daemon/source/sessions/epochs.h"
#include "daemon/source/sessions/pending_events.h"
#include "daemon/source/sessions/session_table.h"

namespace profd::source {

// One session is started or ended at a time, because all share the control words and the epoch.
//
// Start: filter -> side-band open -> the assign iterator evaluates the filter for every thread ->
// members listed, PROCESS of each -> epoch announced, COUNTERS, SESSION_START -> epoch passes ->
// CLOCK of each member. End: epoch announced and passed -> CLOCK of each member -> SNAPSHOT of
// those that are blocked, or for a dump of all -> bits withdrawn -> COUNTERS -> SESSION_END.
//
// Roll: as a start, but /proc is not read again, and the epoch is also the end of the session
// before: its CLOCK events count for both. SNAPSHOT only of threads that were not blocked yet at
// the roll before; those that stay blocked were reported then.
//
// Owned by BpfSource; all methods may be called from any thread. A start takes some ms and a /proc
// reading (100 us) per process; an end takes as long as the snapshot may
// (BlockedStacks::kTimeout).
class Sessions {
 public:
  // A start waits this long for the unwind tables of its members.
  static constexpr std::chrono::milliseconds kTablesAtStart{200};

  // The maker of unwind tables; called with a lock held. Empty functions: there is none.
  struct Tables {
    std::function<void(const ProcessKey& process)> prefetch;
    // Until so many requests of the programs, since they were loaded, are done; for a session also
    // what is fetched ahead.
    BlockedStacks::Await await;
  };

  // What it works with; all of it outlives this.
  struct Parts {
    BpfObjects& objects;
    SideBand& side_band;
    OnCpuEvents& on_cpu_events;
    PendingEvents& pending;
    const ProcFs& proc;
    const Clock& clock;
    reader::Readers& snapshots;  // answer by IteratorParsers
    profd_hook hook;
    bool has_run_delay;  // kernel accounting has how long threads wait for a CPU
    // All counters: those of the programs and those of user space.
    std::function<std::vector<std::uint64_t>()> counters;
  };

  explicit Sessions(const Parts& parts);
  // Before the first session.
  void UseTables(Tables tables) {
    background_.UseTables(tables.await);
    tables_ = std::move(tables);
  }

  [[nodiscard]] Result<session::StartedSession> Start(const session::SessionSpec& requested);
  [[nodiscard]] Result<void> Stop(std::uint32_t session);
  // See SessionControl::RollSession.
  [[nodiscard]] Result<session::StartedSession> Roll(std::uint32_t session);

  // As in SessionControl; both wait for a session's start or end.
  [[nodiscard]] session::BudgetReading Budget();
  void SetPeriodFactors(const session::PerKind<session::PeriodFactors>& factors);
  [[nodiscard]] bool UseKernelAccounting(bool use);

  // Threads of processes that have moved to another cgroup join sessions, or leave them, when this
  // finds that some have: call it often. Any thread; does not wait for a session's start or end.
  void FollowMoves();

  [[nodiscard]] bool any_running() const { return running_.load(std::memory_order_relaxed) != 0; }
  // Of these, a requested one.
  [[nodiscard]] bool any_requested() const {
    return requested_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] std::uint64_t snapshot_timeouts() const { return background_.timeouts(); }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_ + background_.malformed(); }
  [[nodiscard]] std::uint64_t clocks_unread() const { return clocks_unread_; }

 private:
  // With mutex_ held, as everything below.
  [[nodiscard]] Result<void> CheckSpec(const session::SessionSpec& spec) const;
  [[nodiscard]] Result<void> Enlist(std::uint32_t slot, const session::SessionSpec& spec);
  [[nodiscard]] Result<void> WriteFilter(std::uint32_t slot, const session::SessionSpec& spec,
                                         const profd_filter& filter);
  void ReevaluateMembers();
  void NoteRunning();
  // Writes which sessions run, for the BPF side.
  void StoreSessions();
  [[nodiscard]] Result<Epoch> Begin(std::uint32_t slot, const session::SessionSpec& spec);
  void Withdraw(std::uint32_t slot);

  // CLOCK events of the members of any of these sessions, one bit each.
  [[nodiscard]] Result<std::vector<wire::EventBytes>> ReadClocks(std::uint64_t sessions);
  [[nodiscard]] std::vector<wire::EventBytes> ReadProcesses(
      std::span<const wire::EventBytes> clocks) const;
  void PrepareTables(BlockedStacks::For whom, std::span<const wire::EventBytes> processes);
  [[nodiscard]] std::vector<wire::EventBytes> Cut(std::span<const std::byte> bytes);
  // An epoch, with the COUNTERS and the START that stand before it. `follows`: the session that
  // ends there, if one does.
  [[nodiscard]] Epoch AnnounceStart(std::uint32_t slot, const session::SessionSpec& spec,
                                    std::optional<std::uint32_t> follows);
  void PutFailedStart(std::uint32_t slot, const session::SessionSpec& spec, const Epoch& epoch);
  [[nodiscard]] wire::EventBytes SessionEvent(profd_event_kind kind, std::uint32_t slot,
                                              const session::SessionSpec& spec, const Epoch& epoch,
                                              std::uint64_t bpf_cost_ns,
                                              std::optional<std::uint32_t> follows = {}) const;

  const Parts parts_;
  const ProcessReader reader_;
  std::mutex mutex_;
  Epochs epochs_;
  SessionTable table_;
  std::map<std::uint32_t, BlockedStacks::Rolled> rolled_;  // by slot
  EffectivePeriods periods_;
  bool kernel_accounting_ = false;  // in use
  session::PerKind<std::uint64_t> starts_;
  Tables tables_;
  BlockedStacks background_;
  std::atomic<std::uint64_t> moves_followed_ = 0;
  std::atomic<std::uint64_t> running_ = 0;
  std::atomic<std::uint64_t> requested_ = 0;
  std::atomic<std::uint64_t> malformed_ = 0;
  std::atomic<std::uint64_t> clocks_unread_ = 0;
};

}  // namespace profd::source
