#include "client/profile/join/profile_join.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "client/profile/host_names.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr auto kMostSum = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
// Numbers of CPUs; a profile that claims more is not believed.
constexpr std::uint64_t kMostCpus = 1u << 22;
constexpr std::size_t kMostNames = 8;     // of hosts, targets ... in one text
constexpr std::size_t kMostCounts = 500;  // texts of lost, dropped and notes
// Spreads the number of a host over what is a hash or an address already.
constexpr std::uint64_t kSpread = 0x9E37'79B9'7F4A'7C15u;

std::uint64_t RowsOf(const v1::Profile& profile) {
  return static_cast<std::uint64_t>(profile.samples().weight_ns_size()) +
         static_cast<std::uint64_t>(profile.switches().thread_size()) +
         static_cast<std::uint64_t>(profile.step_events().time_ns_size());
}

std::uint64_t NodesOf(const v1::Profile& profile) {
  return static_cast<std::uint64_t>(profile.nodes_size());
}

template <typename Names>
std::string ListOf(const Names& names) {
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (named == kMostNames) return text + " and " + FormatCount(names.size() - named) + " more";
    text += (named++ == 0 ? "" : ", ") + name;
  }
  return text;
}

// Texts may name a process. When there are many, all of a name become one.
void AddCounts(const google::protobuf::RepeatedPtrField<v1::NamedCount>& part,
               google::protobuf::RepeatedPtrField<v1::NamedCount>& sum) {
  for (const v1::NamedCount& count : part) {
    const bool many = static_cast<std::size_t>(sum.size()) >= kMostCounts;
    const auto known = std::ranges::find_if(sum, [&](const v1::NamedCount& other) {
      return other.name() == count.name() && (many || other.text() == count.text());
    });
    if (known == sum.end())
      *sum.Add() = count;
    else
      known->set_count(known->count() + count.count());
  }
}

// Where some host has counters, those that lack them have zeros.
void JoinCounters(const v1::Profile& profile, v1::Profile& joined) {
  if (!profile.has_hardware_counters()) return;
  const v1::HardwareCounters& from = profile.hardware_counters();
  v1::HardwareCounters& to = *joined.mutable_hardware_counters();
  to.set_cycles(to.cycles() || from.cycles());
  to.set_instructions(to.instructions() || from.instructions());
  to.set_cache_misses(to.cache_misses() || from.cache_misses());
  if (to.missing().empty()) to.set_missing(from.missing());
  if (to.cycles() || to.instructions() || to.cache_misses()) to.clear_missing();
}

// Of the highest number of a CPU, 1 more.
std::uint64_t CpusOf(const v1::Profile& profile) {
  std::uint64_t cpus = 0;
  const auto see = [&](std::uint64_t cpu) { cpus = std::max(cpus, cpu + 1); };
  for (const v1::CpuPlace& place : profile.cpu_places())
    for (const std::uint32_t cpu : {place.cpu(), place.core(), place.cache(), place.node()})
      see(cpu);
  for (const v1::Thread& thread : profile.threads())
    for (const std::uint32_t cpu : thread.cpus()) see(cpu);
  for (const std::uint32_t cpu : profile.samples().cpu())
    if (cpu != 0) see(cpu - 1);
  for (const std::uint32_t cpu : profile.switches().cpu()) see(cpu);
  return cpus;
}

}  // namespace

struct ProfileJoin::Places {
  StackPlaces stacks;
  std::vector<std::uint32_t> path{0};
  std::uint32_t process = 0;      // of its first process
  std::uint32_t thread = 0;       // of its first thread
  std::uint32_t path_thread = 0;  // of its first one
  std::uint32_t cpu = 0;          // of its CPU 0
  bool has_cpus = true;
};

ProfileJoin::ProfileJoin(const JoinLimits& limits) : limits_(limits), stacks_(joined_) {}
ProfileJoin::~ProfileJoin() = default;

Result<void> ProfileJoin::CheckRoom(const v1::Profile& profile) {
  const auto full = [](const char* what) {
    return Error{ErrorCode::kExhausted,
                 std::string("no room for it: the hosts together have too ") + what,
                 "collect for a shorter time, at a lower rate (-F), or of fewer processes"};
  };
  std::uint64_t weight_ns = weight_ns_;
  std::uint64_t count = count_;
  for (const std::uint64_t weight : profile.samples().weight_ns()) {
    if (weight > kMostSum - weight_ns) return full("much time for one profile");
    weight_ns += weight;
  }
  for (const std::uint32_t samples : profile.samples().count()) count += samples;
  if (count > kMostSum) return full("many samples for one profile");
  if (!hosts_.empty() && RowsOf(profile) > limits_.rows - std::min(limits_.rows, rows_))
    return full("many samples for one profile");
  if (!hosts_.empty() && NodesOf(joined_) + NodesOf(profile) > limits_.nodes)
    return full("many stacks for one profile");
  rows_ += RowsOf(profile);
  weight_ns_ = weight_ns;
  count_ = count;
  return {};
}

Result<void> ProfileJoin::Add(v1::Profile profile, const JoinedHost& host) {
  PROFD_TRY(CheckRoom(profile));
  targets_.insert(profile.target());
  kernels_.insert(profile.kernel());
  hooks_.insert(profile.hook());
  versions_.insert(profile.profd_version());
  hosts_.push_back(host.name);
  if (hosts_.size() == 1) {
    base_unix_ns_ = host.begin_unix_ns;
    next_cpu_ = CpusOf(profile);
    optional_.Begin(profile);
    joined_ = std::move(profile);
    return {};
  }
  if (hosts_.size() == 2) {
    stacks_.Begin();
    LabelProcesses(0, hosts_.front());
  }
  // Where that is before the first host was started its own begin stands beside the first one's.
  const std::uint64_t ahead_ns = base_unix_ns_ - std::min(base_unix_ns_, host.begin_unix_ns);
  const bool fits = ahead_ns < joined_.start_ns();
  if (!fits && ahead_ns != 0) ++other_clocks_;
  const TimeShift from_base(base_unix_ns_, host.begin_unix_ns);
  const TimeShift shift(profile.start_ns(),
                        fits ? from_base(joined_.start_ns()) : joined_.start_ns());
  Places places;
  places.stacks = stacks_.Add(profile);
  places.process = static_cast<std::uint32_t>(joined_.processes_size());
  places.thread = static_cast<std::uint32_t>(joined_.threads_size());
  places.path_thread = static_cast<std::uint32_t>(joined_.path_threads_size());
  AddHead(profile, shift);
  AddCpus(profile, places);
  AddProcesses(profile, shift);
  LabelProcesses(static_cast<int>(places.process), host.name);
  AddThreads(profile, places, shift);
  AddPaths(profile, places, shift);
  AddSamples(profile, places, shift);
  AddSteps(profile, places, shift);
  AddSwitches(profile, places, shift);
  return {};
}

void ProfileJoin::LabelProcesses(int first, const std::string& host) {
  for (int i = first; i < joined_.processes_size(); ++i)
    (*joined_.mutable_processes(i)->mutable_labels())[std::string(kHostLabel)] = host;
}

void ProfileJoin::AddHead(const v1::Profile& profile, const TimeShift& shift) {
  const std::uint64_t start_ns = shift(profile.start_ns());
  if (start_ns < joined_.start_ns()) {
    const std::uint64_t by_ns = joined_.start_ns() - start_ns;
    joined_.set_start_unix_ns(joined_.start_unix_ns() - std::min(joined_.start_unix_ns(), by_ns));
    joined_.set_start_ns(start_ns);
    // The base is an instant of both clocks, and moves with them.
    base_unix_ns_ -= std::min(base_unix_ns_, by_ns);
  }
  joined_.set_end_ns(std::max(joined_.end_ns(), shift(profile.end_ns())));
  joined_.set_on_cpu(joined_.on_cpu() || profile.on_cpu());
  joined_.set_off_cpu(joined_.off_cpu() || profile.off_cpu());
  const bool same_periods = joined_.on_cpu_period_ns() == profile.on_cpu_period_ns() &&
                            joined_.off_cpu_period_ns() == profile.off_cpu_period_ns();
  if (!same_periods) ++other_periods_;
  joined_.set_on_cpu_period_ns(std::max(joined_.on_cpu_period_ns(), profile.on_cpu_period_ns()));
  joined_.set_off_cpu_period_ns(std::max(joined_.off_cpu_period_ns(), profile.off_cpu_period_ns()));
  if (hosts_.size() == 2 && joined_.periods_size() != 0) ++raised_periods_;
  if (profile.periods_size() != 0) ++raised_periods_;
  joined_.clear_periods();
  joined_.set_only_gil(joined_.only_gil() && profile.only_gil());
  joined_.set_wakers(joined_.wakers() || profile.wakers());
  joined_.set_no_hardware_counters(joined_.no_hardware_counters() ||
                                   profile.no_hardware_counters());
  JoinCounters(profile, joined_);
  const std::uint64_t cpus = std::uint64_t{joined_.cpus()} + profile.cpus();
  const bool known = joined_.cpus() != 0 && profile.cpus() != 0 && cpus <= kMostCpus;
  joined_.set_cpus(known ? static_cast<std::uint32_t>(cpus) : 0);
  joined_.set_daemon_cpu_ns(joined_.daemon_cpu_ns() + profile.daemon_cpu_ns());
  joined_.set_bpf_ns(joined_.bpf_ns() + profile.bpf_ns());
  AddCounts(profile.lost(), *joined_.mutable_lost());
  AddCounts(profile.dropped(), *joined_.mutable_dropped());
  AddCounts(profile.counters(), *joined_.mutable_counters());
}

void ProfileJoin::AddCpus(const v1::Profile& profile, Places& places) {
  const std::uint64_t cpus = CpusOf(profile);
  places.has_cpus = next_cpu_ <= kMostCpus && cpus <= kMostCpus - next_cpu_;
  if (!places.has_cpus) {
    ++cpus_left_out_;
    return;
  }
  places.cpu = static_cast<std::uint32_t>(next_cpu_);
  next_cpu_ += cpus;
  for (v1::CpuPlace place : profile.cpu_places()) {
    place.set_cpu(place.cpu() + places.cpu);
    place.set_core(place.core() + places.cpu);
    place.set_cache(place.cache() + places.cpu);
    place.set_node(place.node() + places.cpu);
    *joined_.add_cpu_places() = std::move(place);
  }
}

void ProfileJoin::AddProcesses(const v1::Profile& profile, const TimeShift& shift) {
  const std::uint64_t mark = kSpread * (hosts_.size() - 1);
  for (v1::Process process : profile.processes()) {
    // Of a group it is a hash, which is the same on all hosts.
    process.set_start_ns(process.group_size() != 0 ? process.start_ns() ^ mark
                                                   : shift.OrNone(process.start_ns()));
    *joined_.add_processes() = std::move(process);
  }
}

void ProfileJoin::AddThreads(const v1::Profile& profile, const Places& places,
                             const TimeShift& shift) {
  const std::uint64_t mark = kSpread * (hosts_.size() - 1);
  for (v1::Thread thread : profile.threads()) {
    thread.set_process(thread.process() + places.process);
    thread.set_start_ns(thread.group_size() != 0 ? thread.start_ns() ^ mark
                                                 : shift.OrNone(thread.start_ns()));
    thread.set_begin_ns(shift(thread.begin_ns()));
    thread.set_end_ns(shift(thread.end_ns()));
    if (!places.has_cpus) thread.clear_cpus();
    for (std::uint32_t& cpu : *thread.mutable_cpus()) cpu += places.cpu;
    *joined_.add_threads() = std::move(thread);
  }
}

void ProfileJoin::AddPaths(const v1::Profile& profile, Places& places, const TimeShift& shift) {
  for (v1::PathThread thread : profile.path_threads()) {
    thread.set_start_ns(shift.OrNone(thread.start_ns()));
    thread.set_process_start_ns(shift.OrNone(thread.process_start_ns()));
    *joined_.add_path_threads() = std::move(thread);
  }
  places.path.reserve(static_cast<std::size_t>(profile.paths_size()) + 1);
  for (v1::PathNode path : profile.paths()) {
    path.set_parent(places.path[path.parent()]);
    if (path.thread() != 0) path.set_thread(path.thread() + places.path_thread);
    path.set_node(places.stacks.node[path.node()]);
    places.path.push_back(stacks_.Path(path));
  }
  for (v1::WakeUps wake_ups : profile.wake_ups()) {
    wake_ups.set_thread(wake_ups.thread() + places.thread);
    wake_ups.set_waker(wake_ups.waker() + places.path_thread);
    *joined_.add_wake_ups() = std::move(wake_ups);
  }
}

void ProfileJoin::AddSamples(const v1::Profile& profile, const Places& places,
                             const TimeShift& shift) {
  const v1::Samples& from = profile.samples();
  v1::Samples& to = *joined_.mutable_samples();
  const int rows = to.weight_ns_size();
  const int more = from.weight_ns_size();
  const auto same = [](auto value) { return value; };
  const auto node = [&](std::uint32_t value) { return places.stacks.node[value]; };
  AppendMapped(from.time_ns(), *to.mutable_time_ns(), shift);
  AppendMapped(from.raw_weight_ns(), *to.mutable_raw_weight_ns(), same);
  AppendMapped(from.weight_ns(), *to.mutable_weight_ns(), same);
  AppendMapped(from.thread(), *to.mutable_thread(),
               [&](std::uint32_t thread) { return thread + places.thread; });
  AppendMapped(from.node(), *to.mutable_node(), node);
  AppendMapped(from.state(), *to.mutable_state(), same);
  AppendMapped(from.wait(), *to.mutable_wait(), same);
  AppendMapped(from.count(), *to.mutable_count(), same);
  AppendMapped(from.exact(), *to.mutable_exact(), same);
  AppendMapped(from.stack_flags(), *to.mutable_stack_flags(), same);
  AppendOrZero(from.gil(), rows, more, *to.mutable_gil(), same);
  AppendOrZero(from.rule(), rows, more, *to.mutable_rule(),
               [&](std::uint32_t rule) { return places.stacks.rule[rule]; });
  AppendOrZero(from.rule_node(), rows, more, *to.mutable_rule_node(), node);
  AppendOrZero(from.path(), rows, more, *to.mutable_path(),
               [&](std::uint32_t path) { return places.path[path]; });
  AppendOrZero(from.labels(), rows, more, *to.mutable_labels(),
               [&](std::uint32_t labels) { return places.stacks.labels[labels]; });
  AppendOrZero(from.cpu(), rows, more, *to.mutable_cpu(), [&](std::uint32_t cpu) {
    return cpu == 0 || !places.has_cpus ? 0 : cpu + places.cpu;
  });
  AppendOrZero(from.sibling(), rows, more, *to.mutable_sibling(), same);
  AppendOrZero(from.counted_ns(), rows, more, *to.mutable_counted_ns(), same);
  AppendOrZero(from.cycles(), rows, more, *to.mutable_cycles(), same);
  AppendOrZero(from.instructions(), rows, more, *to.mutable_instructions(), same);
  AppendOrZero(from.cache_misses(), rows, more, *to.mutable_cache_misses(), same);
  optional_.Add(profile, to);
}

void ProfileJoin::AddSteps(const v1::Profile& profile, const Places& places,
                           const TimeShift& shift) {
  const v1::StepEvents& from = profile.step_events();
  if (from.time_ns().empty()) return;
  v1::StepEvents& to = *joined_.mutable_step_events();
  const int rows = to.time_ns_size();
  // Addresses of objects are of one process, and of two hosts may be equal.
  const std::uint64_t mark = kSpread * (hosts_.size() - 1);
  AppendMapped(from.time_ns(), *to.mutable_time_ns(), shift);
  AppendMapped(from.thread(), *to.mutable_thread(),
               [&](std::uint32_t thread) { return thread + places.thread; });
  AppendMapped(from.source(), *to.mutable_source(),
               [&](std::uint32_t source) { return places.stacks.source[source]; });
  AppendMapped(from.name(), *to.mutable_name(),
               [&](std::uint32_t name) { return places.stacks.name[name]; });
  AppendMapped(from.end(), *to.mutable_end(), [](bool end) { return end; });
  AppendOrZero(from.object(), rows, from.time_ns_size(), *to.mutable_object(),
               [&](std::uint64_t object) { return object == 0 ? 0 : object ^ mark; });
}

void ProfileJoin::AddSwitches(const v1::Profile& profile, const Places& places,
                              const TimeShift& shift) {
  if (!profile.has_switches()) return;
  const v1::Switches& from = profile.switches();
  v1::Switches& to = *joined_.mutable_switches();
  const auto same = [](auto value) { return value; };
  const auto or_none = [&](std::uint64_t time_ns) { return shift.OrNone(time_ns); };
  const auto thread = [&](std::uint32_t number) { return number + places.thread; };
  AppendMapped(from.thread(), *to.mutable_thread(), thread);
  AppendMapped(from.out_ns(), *to.mutable_out_ns(), shift);
  AppendMapped(from.ready_ns(), *to.mutable_ready_ns(), shift);
  AppendMapped(from.in_ns(), *to.mutable_in_ns(), or_none);
  AppendMapped(from.reason(), *to.mutable_reason(), same);
  AppendMapped(from.cpu(), *to.mutable_cpu(),
               [&](std::uint32_t cpu) { return places.has_cpus ? cpu + places.cpu : 0; });
  AppendMapped(from.woken_ns(), *to.mutable_woken_ns(), or_none);
  AppendMapped(from.waker_pid(), *to.mutable_waker_pid(), same);
  AppendMapped(from.waker_tid(), *to.mutable_waker_tid(), same);
  AppendMapped(from.by_interrupt(), *to.mutable_by_interrupt(), same);
  AppendMapped(from.incomplete(), *to.mutable_incomplete(), thread);
}

void ProfileJoin::SayWhatIsLeftOut() {
  const auto say = [&](const char* name, const char* text, std::uint64_t count) {
    if (count == 0) return;
    v1::NamedCount& note = *joined_.add_counters();
    note.set_name(name);
    note.set_text(text);
    note.set_count(count);
  };
  say("join_hosts",
      "hosts in this profile; CPUs of each have numbers behind those of the one before",
      hosts_.size());
  say("join_clocks",
      "hosts whose times could not be put beside those of the first: all begin at once",
      other_clocks_);
  say("join_periods", "hosts with other periods than the first: the longest ones are shown",
      other_periods_);
  say("join_raised", "hosts whose periods were raised for a time: left out when", raised_periods_);
  say("join_cpus", "hosts whose CPUs are left out: their numbers are too high", cpus_left_out_);
  say("join_errors", "columns left out that not all hosts have: how far chance may have moved sums",
      optional_.edges_left_out() ? 1 : 0);
}

v1::Profile ProfileJoin::Finish() {
  if (hosts_.size() < 2) return std::move(joined_);
  std::ranges::sort(hosts_);
  joined_.set_host(ListOf(hosts_));
  joined_.set_target(ListOf(targets_));
  joined_.set_kernel(ListOf(kernels_));
  joined_.set_hook(ListOf(hooks_));
  joined_.set_profd_version(ListOf(versions_));
  SayWhatIsLeftOut();
  SortByTime(*joined_.mutable_samples());
  if (joined_.has_step_events()) SortByTime(*joined_.mutable_step_events());
  return std::move(joined_);
}

}  // namespace profd::client
