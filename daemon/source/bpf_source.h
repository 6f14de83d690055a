// BpfSource: the live source. The only thing of this folder that the rest of the daemon makes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpf/shared/control.h"
#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/session/session_control.h"
#include "daemon/source/bpf/bpf_objects.h"
#include "daemon/source/bpf/label_process_map.h"
#include "daemon/source/bpf/live_unwind_maps.h"
#include "daemon/source/bpf/python_process_map.h"
#include "daemon/source/bpf/ring_reader.h"
#include "daemon/source/bpf/share_map.h"
#include "daemon/source/bpf/wanted_ring.h"
#include "daemon/source/perf/on_cpu_events.h"
#include "daemon/source/perf/pmu_events.h"
#include "daemon/source/perf/side_band.h"
#include "daemon/source/probe/features.h"
#include "daemon/source/procfs/backfill.h"
#include "daemon/source/procfs/user_names.h"
#include "daemon/source/sessions/pending_events.h"
#include "daemon/source/sessions/sessions.h"
#include "daemon/wire/event_source.h"

namespace profd::source {

// They outlive the source.
struct SourceReaders {
  reader::Readers& snapshots;  // of task iterators, by IteratorParsers
  reader::Readers& processes;  // of texts of /proc, by ProcessTextParsers
  reader::Readers& observers;  // by ObserverParsers
};

struct BpfSourceOptions {
  std::optional<profd_hook> force_hook = std::nullopt;  // only this level of hooks (tests)
  // No better than this (tests).
  ObserverKind best_observers = ObserverKind::kProgram;
  // What counts as cycles, instructions and cache misses (tests: where there is no PMU).
  PmuEvents::Attributes counters = HardwareCounterAttributes();
};

// Loads and attaches once, at Create; from then on every thread's clock runs. Poll is called by the
// reader thread, the methods of SessionControl by any. Between Polls the rings fill: with sessions
// running, poll at least every 100 ms. Detaches everything when it goes.
class BpfSource : public wire::EventSource, public session::SessionControl {
 public:
  // kUnsupported: this kernel cannot do it, and why. kPermissionDenied: what is missing.
  [[nodiscard]] static Result<std::unique_ptr<BpfSource>> Create(
      const SourceReaders& readers, const BpfSourceOptions& options = {});

  [[nodiscard]] Result<wire::PollStatus> Poll(std::chrono::milliseconds timeout,
                                              const Sink& sink) override;
  // Where unwind tables are put, by one thread; lives as long as this.
  [[nodiscard]] LiveUnwindMaps& unwind_maps() { return *unwind_maps_; }
  // Where interpreters are made known; lives as long as this.
  [[nodiscard]] PythonProcessMap& python_processes() { return python_processes_; }
  // Where processes whose threads have labels are made known; lives as long as this.
  [[nodiscard]] LabelProcessMap& label_processes() { return label_processes_; }
  // Takes the requests for unwind tables; called by Poll. Set before the first one.
  void OnWanted(WantedRing::Sink sink) { on_wanted_ = std::move(sink); }
  // Who is waited for where tables are missing at a session's start or end. Set before the first
  // session.
  void UseTables(Sessions::Tables tables) { sessions_.UseTables(std::move(tables)); }

  // How places are found and watched at which steps begin. Set before the first session; without
  // it no steps are seen.
  void UseSteps(StepProbes::Tools tools) { sessions_.UseSteps(std::move(tools)); }
  [[nodiscard]] const Heartbeat& steps_heartbeat() const { return sessions_.steps_heartbeat(); }

  // Who has gone beyond shares that other parts of profd keep: `status` and profiles name them,
  // too. Set before the first session.
  void UseShares(std::function<std::vector<BeyondShare>()> shares) {
    other_shares_ = std::move(shares);
  }

  [[nodiscard]] Result<session::StartedSession> StartSession(
      const session::SessionSpec& spec) override;
  [[nodiscard]] Result<void> StopSession(std::uint32_t session) override;
  [[nodiscard]] Result<session::StartedSession> RollSession(std::uint32_t session) override;
  [[nodiscard]] session::SourceStatus Status() const override;
  [[nodiscard]] session::BudgetReading Budget() override { return sessions_.Budget(); }
  // Of the CPUs that were online at the start.
  [[nodiscard]] const std::vector<CpuPlace>& cpu_places() const { return features_.cpu_places; }
  // Whether programs run at context switches now; whether this kernel offers snapshot mode.
  [[nodiscard]] bool has_switch_hooks() const { return sessions_.has_switch_hooks(); }
  [[nodiscard]] ObserverKind observer_kind() const { return objects_->observer_kind(); }
  [[nodiscard]] bool can_observe() const { return sessions_.can_observe(); }
  [[nodiscard]] const Heartbeat& heartbeat() const { return on_cpu_events_.heartbeat(); }
  // CPU time that Poll has spent on records of mappings, and on no event of another kind. Any
  // thread.
  [[nodiscard]] std::uint64_t mappings_cpu_ns() const { return mappings_cpu_ns_.value(); }
  // Of its maps and rings, as in Status().
  [[nodiscard]] std::uint64_t MapBytes() const;
  void SetPeriodFactors(const session::PerKind<session::PeriodFactors>& factors) override {
    sessions_.SetPeriodFactors(factors);
  }
  bool RefuseHooks(bool refuse) override { return sessions_.RefuseHooks(refuse); }
  void Detach() override { objects_->Detach(); }

 private:
  // Longest time that events wait in a ring while a client has requested a session, and while
  // background sessions run.
  static constexpr std::chrono::milliseconds kRequestedInterval{50};
  static constexpr std::chrono::milliseconds kBackgroundInterval{100};

  struct Hook {
    HookLevel level;
    std::string reason;  // why no better level
  };

  // What can fail, made by Create.
  struct Parts {
    Features features;
    Hook hook;
    std::unique_ptr<BpfObjects> objects;
    RingReader rings;
    WantedRing wanted;
    std::unique_ptr<LiveUnwindMaps> unwind_maps;
    UniqueFd wake;
    PmuEvents::Attributes counters;
  };
  BpfSource(Parts parts, const SourceReaders& readers);

  void DrainSideBand(const Sink& sink);
  // Says where CPUs are that came online.
  void RefreshCpuPlaces();
  // Delivers the waiting events; returns their number.
  std::uint64_t Round(const Sink& sink);
  [[nodiscard]] std::chrono::milliseconds RoundInterval() const;
  void Wait(std::chrono::milliseconds longest) const;
  [[nodiscard]] std::vector<BeyondShare> BeyondShares() const;
  // "process 7 (name): maps files too often; ...", "user 1000 (name): ..."
  [[nodiscard]] std::string Describe(const BeyondShare& beyond) const;
  // By enum profd_counter: those of the BPF side and of this folder.
  [[nodiscard]] std::vector<std::uint64_t> ReadCounters() const;

  const ProcFs proc_;
  const SystemClock clock_;
  const Features features_;
  const Hook hook_;
  const std::unique_ptr<BpfObjects> objects_;
  RingReader rings_;
  WantedRing wanted_;
  const std::unique_ptr<LiveUnwindMaps> unwind_maps_;
  PythonProcessMap python_processes_;
  LabelProcessMap label_processes_;
  WantedRing::Sink on_wanted_;
  std::function<std::vector<BeyondShare>()> other_shares_;
  mutable UserNames users_{"/etc/passwd"};
  SideBand side_band_;
  OnCpuEvents on_cpu_events_;
  PmuEvents pmu_events_;
  PendingEvents pending_;
  Backfill backfill_;
  Counter processes_gone_;
  Counter mmaps_dropped_;
  Counter beyond_share_;
  Counter mappings_cpu_ns_;
  std::uint64_t mmaps_lost_ = 0;  // as of the last round
  Counter malformed_;
  std::chrono::steady_clock::time_point refreshed_;
  std::vector<CpuPlace> cpu_places_;  // as the programs know them
  Sessions sessions_;                 // last: uses all of them
};

}  // namespace profd::source
