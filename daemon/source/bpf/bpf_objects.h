// BpfObjects: the loaded and attached programs and maps of bpf/; detached and freed with it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bpf/shared/control.h"
#include "bpf/shared/counters.h"
#include "daemon/base/result.h"
#include "daemon/source/bpf/live_unwind_maps.h"
#include "daemon/source/bpf/ring_reader.h"
#include "daemon/source/probe/features.h"
#include "daemon/source/probe/hook_levels.h"
#include "daemon/wire/cpu_place.h"

struct profd_bpf;  // the skeletons, profd_bpf.skel.h and profd_bpf_observe.skel.h
struct profd_bpf_observe;
struct bpf_link;
struct bpf_program;

namespace profd::source {

// Everything is loaded once; sessions change maps and control words, and have the switch hooks
// attached. The control words may be written by one thread at a time; everything else is safe from
// any thread.
class BpfObjects {
 public:
  // Loads the programs for one level of hooks and attaches them. kPermissionDenied: names what is
  // missing. kUnsupported: the kernel's verifier refused a program, or the level cannot be attached
  // here.
  [[nodiscard]] static Result<std::unique_ptr<BpfObjects>> Load(const HookLevel& level,
                                                                const Features& features);
  ~BpfObjects();
  BpfObjects(const BpfObjects&) = delete;
  BpfObjects& operator=(const BpfObjects&) = delete;

  // Ends the scheduler hooks: no event is made after it. For good, and by one thread.
  void Detach() {
    waker_hook_.reset();
    recorder_.reset();
    switch_hooks_.clear();
    hooks_.clear();
  }

  // The hooks at context switches, which cost something at each switch of the host. By one thread
  // at a time. Every thread must get a clock after they were attached: read `assign`. Not where the
  // level is none.
  [[nodiscard]] Result<void> AttachSwitchHooks();
  void DetachSwitchHooks() { switch_hooks_.clear(); }
  [[nodiscard]] bool has_switch_hooks() const { return !switch_hooks_.empty(); }

  // The hook at wake-ups. By one thread at a time.
  [[nodiscard]] Result<void> AttachWakerHook();
  void DetachWakerHook() { waker_hook_.reset(); }
  // The same of wake-ups that are all recorded.
  [[nodiscard]] Result<void> AttachRecorder();
  void DetachRecorder() { recorder_.reset(); }

  // Where the CPUs are that are online now, for those that come later. Not where that was not known
  // at the start.
  [[nodiscard]] Result<void> SetCpuPlaces(const std::vector<CpuPlace>& places);

  [[nodiscard]] profd_control& control() const;
  [[nodiscard]] int filters_fd() const;
  [[nodiscard]] int filter_ids_fd() const;
  [[nodiscard]] int on_cpu_program_fd() const;
  // The maps of counting events, by enum profd_pmu_counter.
  [[nodiscard]] std::array<int, PROFD_PMU_COUNTERS> pmu_fds() const;
  // The program that sees steps; StepProbes have it attached.
  [[nodiscard]] int step_program_fd() const;
  // What observers need: the program that makes a pass, or, where the kernel has no such programs,
  // the task iterator that does (a bpf_link) and the map in which it finds the pass. None: the
  // kernel can run neither.
  [[nodiscard]] std::vector<int> observer_fds() const;
  [[nodiscard]] ObserverKind observer_kind() const { return observes_by_; }
  // Task iterators (bpf_link file descriptors). `snapshot` is -1 where the kernel has no sleepable
  // iterator; `snapshot_missing` says why.
  [[nodiscard]] int assign_link_fd() const;
  [[nodiscard]] int reevaluate_link_fd() const;
  [[nodiscard]] int clocks_link_fd() const;
  [[nodiscard]] int snapshot_link_fd() const;
  [[nodiscard]] const std::string& snapshot_missing() const { return snapshot_missing_; }
  [[nodiscard]] profd_split split() const { return split_; }
  // Of the sampling points; not 0.
  [[nodiscard]] std::uint64_t point_seed() const { return point_seed_; }

  [[nodiscard]] std::vector<RingReader::Ring> rings() const;
  [[nodiscard]] int wanted_ring_fd() const;
  [[nodiscard]] int shares_fd() const;
  [[nodiscard]] LiveUnwindMaps::Maps unwind_maps();
  [[nodiscard]] int label_processes_fd() const;
  [[nodiscard]] int python_processes_fd() const;
  [[nodiscard]] int python_runtimes_fd() const;
  // Processes of several threads that have moved to another cgroup since the programs were loaded.
  [[nodiscard]] std::uint64_t process_moves() const;
  // Threads that have begun to exit and not ended yet, of those counted in a control.exit_slot.
  [[nodiscard]] std::int64_t exiting(std::uint64_t slot) const;
  // Held while the snapshot iterator is being read.
  [[nodiscard]] std::mutex& snapshot_mutex() { return snapshot_mutex_; }
  // By enum profd_counter, summed over all CPUs, since the programs were loaded.
  [[nodiscard]] std::vector<std::uint64_t> ReadCounters() const;
  [[nodiscard]] std::uint64_t ReadCounter(profd_counter counter) const;
  // Kernel memory of all maps, as far as the kernel accounts for it.
  [[nodiscard]] std::uint64_t MapBytes() const;

 private:
  struct DestroySkeleton {
    void operator()(profd_bpf* skeleton) const;
    void operator()(profd_bpf_observe* skeleton) const;
  };
  struct DestroyLink {
    void operator()(bpf_link* link) const;
  };
  using LinkPtr = std::unique_ptr<bpf_link, DestroyLink>;

  BpfObjects() = default;
  void Configure(const HookLevel& level, const Features& features);
  // The program `observe`, on the maps of the others. An errno, or 0.
  [[nodiscard]] int LoadObserve();
  [[nodiscard]] Result<void> AttachHooks(const Features& features);
  [[nodiscard]] Result<void> AttachAll(const std::vector<bpf_program*>& programs,
                                       std::vector<LinkPtr>& links) const;
  [[nodiscard]] Result<void> AttachIterators();
  [[nodiscard]] Result<LinkPtr> Attach(bpf_program* program) const;

  std::unique_ptr<profd_bpf, DestroySkeleton> skeleton_;
  std::unique_ptr<profd_bpf_observe, DestroySkeleton> observe_skeleton_;
  HookLevel level_;
  ObserverKind observes_by_ = ObserverKind::kNone;
  std::vector<LinkPtr> hooks_;
  std::vector<LinkPtr> switch_hooks_;
  LinkPtr waker_hook_;
  LinkPtr recorder_;
  LinkPtr assign_;
  LinkPtr reevaluate_;
  LinkPtr clocks_;
  LinkPtr snapshot_;
  LinkPtr observe_;
  std::string snapshot_missing_;
  std::mutex snapshot_mutex_;
  profd_split split_ = PROFD_SPLIT_RUN_DELAY;
  std::uint64_t point_seed_ = 0;
};

}  // namespace profd::source
