#include "daemon/source/bpf/bpf_objects.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/source/bpf/control_word.h"
#include "daemon/source/bpf/libbpf_log.h"
#include "daemon/source/probe/capabilities.h"
#include "daemon/source/probe/interrupt_entries.h"
#include "daemon/source/probe/pid_namespace.h"
#include "profd_bpf.skel.h"
#include "profd_bpf_observe.skel.h"

namespace profd::source {
namespace {

// The line in which the verifier says what it did not like: the last one before its statistics.
// Without one libbpf itself refused, and says so before the lines that only name the object.
std::string LastComplaint(const std::string& log) {
  std::string_view rest = log;
  std::string complaint;
  std::string refusal;
  while (!rest.empty()) {
    const auto newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    if (line.starts_with("processed ") || line.starts_with("-- END")) break;
    if (line.starts_with("libbpf: ")) {
      if (!line.starts_with("libbpf: failed to load")) refusal = line;
    } else if (!line.empty()) {
      complaint = line;
    }
    if (newline == std::string_view::npos) break;
    rest.remove_prefix(newline + 1);
  }
  return complaint.empty() ? refusal : "the kernel's verifier says: " + complaint;
}

Error LoadError(int error_number, const LibbpfLog& log) {
  Error error = ErrorFromErrno(error_number, "cannot load the BPF programs");
  if (error_number == EPERM) {
    error.hint = RightsHint();
  } else if (error_number == ENOMEM) {
    error.code = ErrorCode::kExhausted;
    error.hint = "raise the memory limit of profd's cgroup: BPF maps count towards it";
  } else {
    // EACCES and EINVAL are what the verifier says, whatever the rights.
    error.code = ErrorCode::kUnsupported;
    error.hint = LastComplaint(log.text());
  }
  return error;
}

// "memlock:\t4096" in /proc/self/fdinfo/FD.
std::uint64_t MemlockOf(int map_fd) {
  const auto info = ProcFs().Read("self/fdinfo/" + std::to_string(map_fd), 4'096);
  if (!info) return 0;
  constexpr std::string_view kKey = "memlock:";
  auto at = info->find(kKey);
  if (at == std::string::npos) return 0;
  at = info->find_first_of("0123456789", at + kKey.size());
  std::uint64_t bytes = 0;
  if (at != std::string::npos)
    std::from_chars(info->data() + at, info->data() + info->size(), bytes);
  return bytes;
}

// What cannot be attached is missing in this kernel, unless a right is.
Error AttachError(int error_number, const std::string& what) {
  Error error = ErrorFromErrno(error_number, "cannot attach " + what);
  if (error.code == ErrorCode::kPermissionDenied) {
    error.hint = RightsHint();
  } else {
    error.code = ErrorCode::kUnsupported;
  }
  return error;
}

}  // namespace

void BpfObjects::DestroySkeleton::operator()(profd_bpf* skeleton) const {
  profd_bpf__destroy(skeleton);
}

void BpfObjects::DestroySkeleton::operator()(profd_bpf_observe* skeleton) const {
  profd_bpf_observe__destroy(skeleton);
}

void BpfObjects::DestroyLink::operator()(bpf_link* link) const { ::bpf_link__destroy(link); }

BpfObjects::~BpfObjects() = default;

Result<std::unique_ptr<BpfObjects>> BpfObjects::Load(const HookLevel& level,
                                                     const Features& features) {
  const LibbpfLog log;
  std::unique_ptr<BpfObjects> objects(new BpfObjects);
  objects->skeleton_.reset(profd_bpf__open());
  if (!objects->skeleton_) return LoadError(errno, log);
  objects->Configure(level, features);
  if (const int error = profd_bpf__load(objects->skeleton_.get()); error != 0)
    return LoadError(-error, log);
  if (features.observers == ObserverKind::kProgram) {
    if (const int error = objects->LoadObserve(); error != 0) return LoadError(error, log);
  }
  if (objects->skeleton_->rodata->constants.places != 0)
    PROFD_TRY(objects->SetCpuPlaces(features.cpu_places));
  PROFD_TRY(objects->AttachIterators());
  PROFD_TRY(objects->AttachHooks(features));
  if (level.hook != PROFD_HOOK_NONE) PROFD_TRY(objects->AttachSwitchHooks());
  return objects;
}

void BpfObjects::Configure(const HookLevel& level, const Features& features) {
  level_ = level;
  observes_by_ = features.observers;
  split_ = features.run_delay ? PROFD_SPLIT_RUN_DELAY : PROFD_SPLIT_WAKEUP;
  profd_constants& constants = skeleton_->rodata->constants;
  constants.hook = level.hook;
  constants.split = split_;
  std::random_device random;
  point_seed_ = (std::uint64_t{random()} << 32 | random()) | 1;
  constants.point_seed = point_seed_;
  constants.own_pid = static_cast<__u32>(::getpid());
  const PidNamespace pid_namespace = OwnPidNamespace();
  constants.pidns_level = pid_namespace.level;
  constants.pidns_inum = pid_namespace.inode;
  // As budgets: so much for every 8 CPUs, and at least once.
  constants.share_scale = static_cast<__u32>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN) / 8));

  if (features.cpu_numbers != 0 && !features.cpu_places.empty()) {
    constants.places = 1;
    ::bpf_map__set_max_entries(skeleton_->maps.cpu_places, features.cpu_numbers);
    ::bpf_map__set_max_entries(skeleton_->maps.run_queues, features.cpu_numbers);
  }

  const auto& programs = skeleton_->progs;
  const auto use = [](bpf_program* program, bool wanted) {
    ::bpf_program__set_autoload(program, wanted);
  };
  use(programs.on_switch, level.hook != PROFD_HOOK_NONE);
  use(programs.on_switch_in_exit_tp, level.hook == PROFD_HOOK_SCHED_EXIT);
  use(programs.on_switch_in_kprobe, level.hook == PROFD_HOOK_FINISH_TASK);
  use(programs.on_waking, level.hook != PROFD_HOOK_NONE);
  const bool wakes = level.hook != PROFD_HOOK_NONE && split_ == PROFD_SPLIT_WAKEUP;
  use(programs.on_wakeup, wakes);
  use(programs.on_wakeup_new, wakes);
  use(programs.on_cgroup_attach, features.cgroup_attach);
  use(programs.observe_by_iterator, observes_by_ == ObserverKind::kIterator);
}

Result<void> BpfObjects::SetCpuPlaces(const std::vector<CpuPlace>& places) {
  const bpf_map* map = skeleton_->maps.cpu_places;
  for (std::uint32_t cpu = 0; cpu < ::bpf_map__max_entries(map); ++cpu) {
    profd_cpu_place at{PROFD_NOWHERE, PROFD_NOWHERE, PROFD_NOWHERE, PROFD_NOWHERE};
    const auto place = std::ranges::find(places, cpu, &CpuPlace::cpu);
    if (place != places.end()) {
      const auto is_sibling = [&](const CpuPlace& other) {
        return other.core == place->core && other.cpu != cpu;
      };
      auto sibling = std::find_if(place + 1, places.end(), is_sibling);
      if (sibling == places.end()) sibling = std::find_if(places.begin(), place, is_sibling);
      at = {place->core, place->cache.value_or(PROFD_NOWHERE), place->node,
            sibling == places.end() || sibling == place ? PROFD_NOWHERE : sibling->cpu};
    }
    if (::bpf_map_update_elem(::bpf_map__fd(map), &cpu, &at, BPF_ANY) != 0)
      return Error{ErrorCode::kInternal,
                   "cannot set the place of a CPU: " + std::string(std::strerror(errno)), ""};
  }
  return {};
}

int BpfObjects::LoadObserve() {
  observe_skeleton_.reset(profd_bpf_observe__open());
  if (!observe_skeleton_) return errno;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, observe_skeleton_->obj) {
    // libbpf begins names of sections' maps with 8 letters of the object's name: the same for both.
    const int shared = ::bpf_object__find_map_fd_by_name(skeleton_->obj, ::bpf_map__name(map));
    if (shared < 0) return ENOENT;
    if (const int error = ::bpf_map__reuse_fd(map, shared); error != 0) return -error;
  }
  return -profd_bpf_observe__load(observe_skeleton_.get());
}

Result<BpfObjects::LinkPtr> BpfObjects::Attach(bpf_program* program) const {
  LinkPtr link(::bpf_program__attach(program));
  if (link) return link;
  return AttachError(errno, std::string("BPF program ") + ::bpf_program__name(program));
}

Result<void> BpfObjects::AttachIterators() {
  const auto attach = [this](bpf_program* program, LinkPtr* to) -> Result<void> {
    auto link = Attach(program);
    if (!link) return link.error();
    *to = *std::move(link);
    return {};
  };
  PROFD_TRY(attach(skeleton_->progs.assign_threads, &assign_));
  PROFD_TRY(attach(skeleton_->progs.reevaluate_threads, &reevaluate_));
  PROFD_TRY(attach(skeleton_->progs.read_clocks, &clocks_));
  if (observes_by_ == ObserverKind::kIterator)
    PROFD_TRY(attach(skeleton_->progs.observe_by_iterator, &observe_));
  if (const auto attached = attach(skeleton_->progs.snapshot_stacks, &snapshot_); !attached)
    snapshot_missing_ = attached.error().message;
  return {};
}

Result<void> BpfObjects::AttachAll(const std::vector<bpf_program*>& programs,
                                   std::vector<LinkPtr>& links) const {
  for (bpf_program* program : programs) {
    auto link = Attach(program);
    if (!link) return link.error();
    links.push_back(*std::move(link));
  }
  return {};
}

Result<void> BpfObjects::AttachHooks(const Features& features) {
  const auto& programs = skeleton_->progs;
  std::vector<bpf_program*> wanted{programs.on_fork, programs.on_exec, programs.on_exit,
                                   programs.on_free, programs.on_rename};
  if (features.cgroup_attach) wanted.push_back(programs.on_cgroup_attach);
  return AttachAll(wanted, hooks_);
}

Result<void> BpfObjects::AttachSwitchHooks() {
  const auto& programs = skeleton_->progs;
  StoreControl(control().clock_generation, control().clock_generation + 1);
  // Those that began to exit without a clock of this generation are not counted when they end.
  for (auto& count : skeleton_->bss->words.exiting)
    std::atomic_ref(count).store(0, std::memory_order_relaxed);
  std::vector<bpf_program*> wanted;
  if (split_ == PROFD_SPLIT_WAKEUP) wanted = {programs.on_wakeup, programs.on_wakeup_new};
  if (level_.hook == PROFD_HOOK_SCHED_EXIT) wanted.push_back(programs.on_switch_in_exit_tp);
  wanted.push_back(programs.on_switch);
  std::vector<LinkPtr> links;
  PROFD_TRY(AttachAll(wanted, links));
  if (level_.hook == PROFD_HOOK_FINISH_TASK) {
    for (const std::string& symbol : level_.symbols) {
      LinkPtr link(
          ::bpf_program__attach_kprobe(programs.on_switch_in_kprobe, false, symbol.c_str()));
      if (!link) return AttachError(errno, "a kprobe to " + symbol);
      links.push_back(std::move(link));
    }
  }
  switch_hooks_ = std::move(links);
  return {};
}

Result<void> BpfObjects::AttachWakerHook() {
  if (waker_hook_) return {};
  if (control().interrupts_end == 0) {
    std::ifstream kallsyms("/proc/kallsyms");
    const InterruptEntries entries = FindInterruptEntries(kallsyms);
    StoreControl(control().interrupts_begin, entries.begin);
    StoreControl(control().interrupts_end, entries.end);
  }
  auto link = Attach(skeleton_->progs.on_waking);
  if (!link) return link.error();
  waker_hook_ = *std::move(link);
  return {};
}

Result<void> BpfObjects::AttachRecorder() {
  if (recorder_) return {};
  auto link = Attach(skeleton_->progs.on_waking_recorded);
  if (!link) return link.error();
  recorder_ = *std::move(link);
  return {};
}

std::uint64_t BpfObjects::process_moves() const {
  return std::atomic_ref(skeleton_->bss->words.process_moves).load(std::memory_order_relaxed);
}

std::int64_t BpfObjects::exiting(std::uint64_t slot) const {
  return static_cast<std::int64_t>(
      std::atomic_ref(skeleton_->bss->words.exiting[slot & 1]).load(std::memory_order_relaxed));
}

profd_control& BpfObjects::control() const { return skeleton_->data->control; }
int BpfObjects::filters_fd() const { return ::bpf_map__fd(skeleton_->maps.filters); }
int BpfObjects::filter_ids_fd() const { return ::bpf_map__fd(skeleton_->maps.filter_ids); }
int BpfObjects::on_cpu_program_fd() const {
  return ::bpf_program__fd(skeleton_->progs.on_cpu_sample);
}
std::array<int, PROFD_PMU_COUNTERS> BpfObjects::pmu_fds() const {
  return {::bpf_map__fd(skeleton_->maps.pmu_cycles),
          ::bpf_map__fd(skeleton_->maps.pmu_instructions),
          ::bpf_map__fd(skeleton_->maps.pmu_cache_misses)};
}
int BpfObjects::step_program_fd() const { return ::bpf_program__fd(skeleton_->progs.on_step); }
std::vector<int> BpfObjects::observer_fds() const {
  if (observes_by_ == ObserverKind::kProgram)
    return {::bpf_program__fd(observe_skeleton_->progs.observe)};
  if (observes_by_ == ObserverKind::kIterator)
    return {::bpf_link__fd(observe_.get()), ::bpf_map__fd(skeleton_->maps.requested_passes)};
  return {};
}
int BpfObjects::assign_link_fd() const { return ::bpf_link__fd(assign_.get()); }
int BpfObjects::reevaluate_link_fd() const { return ::bpf_link__fd(reevaluate_.get()); }
int BpfObjects::clocks_link_fd() const { return ::bpf_link__fd(clocks_.get()); }
int BpfObjects::snapshot_link_fd() const {
  return snapshot_ ? ::bpf_link__fd(snapshot_.get()) : -1;
}

std::vector<RingReader::Ring> BpfObjects::rings() const {
  std::vector<RingReader::Ring> rings;
  // Forks and execs first: samples of their processes follow.
  for (const bpf_map* map : {skeleton_->maps.ring_sched, skeleton_->maps.ring_on_cpu})
    rings.push_back({::bpf_map__fd(map), ::bpf_map__max_entries(map)});
  return rings;
}

int BpfObjects::label_processes_fd() const {
  return ::bpf_map__fd(skeleton_->maps.label_processes);
}
int BpfObjects::python_processes_fd() const {
  return ::bpf_map__fd(skeleton_->maps.python_processes);
}
int BpfObjects::python_runtimes_fd() const {
  return ::bpf_map__fd(skeleton_->maps.python_runtimes);
}
int BpfObjects::shares_fd() const { return ::bpf_map__fd(skeleton_->maps.shares); }
int BpfObjects::wanted_ring_fd() const { return ::bpf_map__fd(skeleton_->maps.ring_wanted); }

LiveUnwindMaps::Maps BpfObjects::unwind_maps() {
  const auto& maps = skeleton_->maps;
  LiveUnwindMaps::Maps unwind{.pool_fd = ::bpf_map__fd(maps.unwind_pool),
                              .files_fd = ::bpf_map__fd(maps.unwind_files),
                              .file_ids_fd = ::bpf_map__fd(maps.unwind_file_ids),
                              .control = &control(),
                              .snapshot = &snapshot_mutex_};
  for (const int fd : {unwind.pool_fd, unwind.files_fd, unwind.file_ids_fd})
    unwind.list_bytes += MemlockOf(fd);
  return unwind;
}

std::vector<std::uint64_t> BpfObjects::ReadCounters() const {
  std::vector<std::uint64_t> sums;
  sums.reserve(PROFD_COUNTER_MAX);
  for (int counter = 0; counter < PROFD_COUNTER_MAX; ++counter)
    sums.push_back(ReadCounter(static_cast<profd_counter>(counter)));
  return sums;
}

std::uint64_t BpfObjects::ReadCounter(profd_counter counter) const {
  const int cpus = ::libbpf_num_possible_cpus();
  if (cpus <= 0) return 0;
  std::vector<std::uint64_t> values(static_cast<std::size_t>(cpus));
  const auto key = static_cast<__u32>(counter);
  if (::bpf_map_lookup_elem(::bpf_map__fd(skeleton_->maps.counters), &key, values.data()) != 0)
    return 0;
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

std::uint64_t BpfObjects::MapBytes() const {
  std::uint64_t bytes = 0;
  const bpf_map* map = nullptr;
  bpf_object__for_each_map(map, skeleton_->obj) {
    // Until 6.4 the kernel did not report the memory of rings.
    const bool ring = ::bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF;
    const std::uint64_t least = ring ? ::bpf_map__max_entries(map) : 0;
    bytes += std::max(least, MemlockOf(::bpf_map__fd(map)));
  }
  return bytes;
}

}  // namespace profd::source
