#include "daemon/server/grpc/convert/convert.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/aggregate/process_labels.h"
#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/program_names.h"
#include "daemon/base/files.h"
#include "daemon/base/utf8.h"
#include "daemon/server/grpc/convert/deciding_rules.h"
#include "daemon/server/grpc/convert/frame_operators.h"
#include "daemon/server/grpc/convert/stolen_samples.h"
#include "daemon/source/probe/capabilities.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "profd/v1/profile.pb.h"

namespace profd::server {
namespace {

// The enums of both sides have the same values, so a cast converts them.
static_assert(static_cast<int>(process::State::kBlocked) == v1::STATE_BLOCKED);
static_assert(process::kWaitReasons.size() == v1::WaitReason_ARRAYSIZE);
static_assert(static_cast<int>(process::WaitReason::kLock) == v1::WAIT_LOCK);
static_assert(static_cast<int>(process::WaitReason::kPoll) == v1::WAIT_POLL);
static_assert(static_cast<int>(process::kWaitReasons.back().reason) == v1::WaitReason_MAX);
static_assert(static_cast<int>(process::Gil::kUnknown) == v1::GIL_UNKNOWN);
static_assert(static_cast<int>(process::Gil::kHeld) == v1::GIL_HELD);
static_assert(static_cast<int>(process::Gil::kWaited) == v1::GIL_WAITED);
static_assert(static_cast<int>(symbolize::FrameKind::kKernel) == v1::FRAME_KERNEL);
static_assert(static_cast<int>(symbolize::FrameKind::kPseudo) == v1::FRAME_PSEUDO);

// Names come from ELF files and comms, and can have any bytes. proto3 strings must be UTF-8:
// protobuf refuses a whole profile because of one bad name. So every text passes ValidUtf8.

void Fill(const aggregate::Concurrency& concurrency, v1::Concurrency& proto) {
  for (const aggregate::ConcurrencyLevel& level : concurrency.levels) {
    auto& added = *proto.add_levels();
    added.set_threads(level.threads);
    added.set_running(level.running);
    added.set_wanting(level.wanting);
  }
  proto.set_unknown_points(concurrency.unknown_points);
}

void Fill(const source::CpuLimits& limits, v1::CpuLimits& proto) {
  proto.set_allowed_cpus(limits.allowed_cpus);
  proto.set_quota_cpus(limits.quota_cpus);
  proto.set_quota_periods(limits.quota_periods);
  proto.set_throttled_periods(limits.throttled_periods);
  proto.set_throttled_ns(limits.throttled_ns);
}

void Fill(const aggregate::ProfileProcess& process, std::string_view host, v1::Process& proto) {
  proto.set_pid(process.shown_pid);
  proto.set_start_ns(process.key.start_ns);
  proto.set_comm(ValidUtf8(process.comm));
  proto.set_command_line(ValidUtf8(process.command_line));
  proto.set_cgroup(ValidUtf8(process.cgroup));
  proto.set_exited(process.exited);
  proto.set_executable(ValidUtf8(process.executable));
  proto.set_container(ValidUtf8(process.container));
  proto.set_unit(ValidUtf8(process.unit));
  if (process.owner.uid) proto.set_uid(*process.owner.uid);
  proto.set_user(ValidUtf8(process.owner.user));
  proto.set_build_id(ValidUtf8(process.build_id));
  proto.set_parent(ValidUtf8(process.parent));
  proto.set_group_size(process.group_size);
  // Profile.host says the host. In a process it would mean that the profile is of several.
  for (auto& [name, value] : aggregate::ProcessLabels(process, host))
    if (name != "host.name") (*proto.mutable_labels())[ValidUtf8(name)] = ValidUtf8(value);
  if (process.concurrency) Fill(*process.concurrency, *proto.mutable_concurrency());
  if (process.cpu_limits) Fill(*process.cpu_limits, *proto.mutable_cpu_limits());
  if (!process.interpreter) return;
  const auto& version = process.interpreter->version;
  proto.set_python(version.empty() ? "?" : ValidUtf8(version));
  proto.set_python_refused(ValidUtf8(process.interpreter->refused));
}

void Fill(const symbolize::Frame& frame, const std::map<std::string, std::string>& programs,
          v1::Frame& proto) {
  proto.set_kind(static_cast<v1::FrameKind>(frame.kind));
  proto.set_inlined(frame.inlined);
  proto.set_name(ValidUtf8(frame.name));
  proto.set_full_name(ValidUtf8(frame.full_name));
  proto.set_symbol(ValidUtf8(frame.symbol));
  proto.set_module(ValidUtf8(frame.module));
  proto.set_offset(frame.offset);
  proto.set_file(ValidUtf8(frame.file));
  proto.set_line(frame.line);
  proto.set_reason(ValidUtf8(frame.reason));
  proto.set_interpreter(frame.interpreter);
  // A frame without a symbol is shown as its program, which may have run under another name.
  if (!frame.name.empty() && frame.reason.empty()) return;
  const auto program = programs.find(frame.module);
  if (program == programs.end()) return;
  proto.set_program(ValidUtf8(program->second));
  const std::string_view file = BaseName(frame.module);
  if (frame.name.starts_with(file))
    proto.set_name(ValidUtf8(program->second + frame.name.substr(file.size())));
}

void Fill(const profd_clock& clock, v1::ThreadClock& proto) {
  proto.set_on_cpu_ns(clock.on_cpu_ns);
  proto.set_runnable_after_wakeup_ns(clock.runnable_ns[PROFD_AFTER_WAKEUP]);
  proto.set_runnable_after_preemption_ns(clock.runnable_ns[PROFD_AFTER_PREEMPTION]);
  proto.set_runnable_after_yield_ns(clock.runnable_ns[PROFD_AFTER_YIELD]);
  proto.set_blocked_interruptible_ns(clock.blocked_ns[PROFD_INTERRUPTIBLE]);
  proto.set_blocked_uninterruptible_ns(clock.blocked_ns[PROFD_UNINTERRUPTIBLE]);
  proto.set_blocked_iowait_ns(clock.blocked_ns[PROFD_IOWAIT]);
  proto.set_on_cpu_count(clock.on_cpu_count);
  proto.set_runnable_after_wakeup_count(clock.runnable_count[PROFD_AFTER_WAKEUP]);
  proto.set_runnable_after_preemption_count(clock.runnable_count[PROFD_AFTER_PREEMPTION]);
  proto.set_runnable_after_yield_count(clock.runnable_count[PROFD_AFTER_YIELD]);
  proto.set_blocked_interruptible_count(clock.blocked_count[PROFD_INTERRUPTIBLE]);
  proto.set_blocked_uninterruptible_count(clock.blocked_count[PROFD_UNINTERRUPTIBLE]);
  proto.set_blocked_iowait_count(clock.blocked_count[PROFD_IOWAIT]);
  proto.set_migrations(clock.migrations);
  proto.set_stolen_exact_ns(clock.stolen_ns[PROFD_STOLEN_EXACT]);
  proto.set_stolen_spread_ns(clock.stolen_ns[PROFD_STOLEN_SPREAD]);
}

void Fill(const aggregate::Migrations& migrations, v1::ThreadClock& proto) {
  proto.set_core_migrations(migrations.core);
  proto.set_cache_migrations(migrations.cache);
  proto.set_node_migrations(migrations.node);
}

void Fill(const aggregate::HardwareCounts& counts, v1::HardwareCounts& proto) {
  proto.set_counted_ns(counts.counted_ns);
  proto.set_cycles(counts.counts[PROFD_PMU_CYCLES]);
  proto.set_instructions(counts.counts[PROFD_PMU_INSTRUCTIONS]);
  proto.set_cache_misses(counts.counts[PROFD_PMU_CACHE_MISSES]);
}

void Fill(const aggregate::ProfileThread& thread, v1::Thread& proto) {
  proto.set_tid(thread.shown_tid);
  proto.set_start_ns(thread.key.start_ns);
  proto.set_process(thread.process);
  proto.set_comm(ValidUtf8(thread.comm));
  proto.set_begin_ns(thread.begin_ns);
  proto.set_end_ns(thread.end_ns);
  Fill(thread.clock, *proto.mutable_clock());
  if (thread.migrations) Fill(*thread.migrations, *proto.mutable_clock());
  proto.set_began(thread.began);
  proto.set_exited(thread.exited);
  proto.set_clock_missing(thread.clock_missing);
  proto.set_closure_error(aggregate::ClosureError(thread));
  if (std::ranges::any_of(thread.edge_factors, [](double factor) { return factor != 0; }))
    for (const double factor : thread.edge_factors) proto.add_edge_factors(factor);
  proto.set_group_size(thread.group_size);
  proto.set_elapsed_ns(thread.group_elapsed_ns);
  for (const std::uint16_t cpu : thread.cpus) proto.add_cpus(cpu);
  if (thread.counts) Fill(*thread.counts, *proto.mutable_counters());
}

// Numbers the modules of a profile. One file can have several descriptions, if a debug file arrived
// during the session. The latest one counts for all frames of the file.
class Modules {
 public:
  explicit Modules(v1::Profile& proto) : proto_(proto) {}

  // 1 + index into the profile's modules.
  std::uint32_t Add(const symbolize::ModuleInfoRef& info) {
    if (!info) return 0;
    const auto [known, added] = seen_.try_emplace(info.get(), 0);
    if (!added) return known->second;
    const auto [file, is_new] =
        files_.try_emplace({info->path, info->build_id}, proto_.modules_size());
    auto& module = is_new ? *proto_.add_modules() : *proto_.mutable_modules(file->second);
    module.set_path(ValidUtf8(info->path));
    module.set_build_id(ValidUtf8(info->build_id));
    module.set_symbols_from(ValidUtf8(info->symbols_from));
    module.set_symbols_file(ValidUtf8(info->symbols_file));
    module.set_symbols_missing(ValidUtf8(info->symbols_missing));
    module.set_debug_file(ValidUtf8(info->debug_file));
    module.set_debug_missing(ValidUtf8(info->debug_missing));
    return known->second = static_cast<std::uint32_t>(file->second) + 1;
  }

 private:
  v1::Profile& proto_;
  std::map<const symbolize::ModuleInfo*, std::uint32_t> seen_;
  std::map<std::pair<std::string, std::string>, int> files_;  // path and build id -> index
};

void Fill(const budget::SamplingStatus& status, v1::SamplingStatus& proto) {
  proto.set_limited(status.budget.limited);
  proto.set_budget_cpus(status.budget.cpus);
  proto.set_spent_cpus(status.spent_cpus);
  proto.set_on_cpu_factor(status.factors.on_cpu);
  proto.set_off_cpu_factor(status.factors.off_cpu);
}

// In order of time.
using SampleRefs = std::vector<const aggregate::ProfileSample*>;

SampleRefs Merge(const std::vector<aggregate::ProfileSample>& samples,
                 const std::vector<aggregate::ProfileSample>& others) {
  SampleRefs all;
  all.reserve(samples.size() + others.size());
  auto other = others.begin();
  for (const auto& sample : samples) {
    for (; other != others.end() && other->time_ns < sample.time_ns; ++other)
      all.push_back(&*other);
    all.push_back(&sample);
  }
  for (; other != others.end(); ++other) all.push_back(&*other);
  return all;
}

void Fill(const SampleRefs& samples, v1::Samples& proto) {
  for (const auto* ref : samples) {
    const aggregate::ProfileSample& sample = *ref;
    proto.add_time_ns(sample.time_ns);
    proto.add_raw_weight_ns(sample.raw_weight_ns);
    proto.add_weight_ns(sample.weight_ns);
    proto.add_thread(sample.thread);
    proto.add_node(sample.node);
    proto.add_state(static_cast<v1::State>(sample.state));
    proto.add_wait(static_cast<v1::WaitReason>(sample.wait));
    proto.add_count(sample.count);
    proto.add_exact(sample.exact);
    proto.add_stack_flags(sample.stack_flags);
  }
}

void FillGil(const SampleRefs& samples, v1::Samples& proto) {
  const bool any = std::any_of(samples.begin(), samples.end(), [](const auto* sample) {
    return sample->gil != process::Gil::kNone;
  });
  if (!any) return;
  for (const auto* sample : samples) proto.add_gil(static_cast<v1::Gil>(sample->gil));
}

void FillEdges(const SampleRefs& samples, v1::Samples& proto) {
  const bool any = std::any_of(samples.begin(), samples.end(),
                               [](const auto* sample) { return sample->edges != 0; });
  if (!any) return;
  for (const auto* sample : samples) proto.add_edges(sample->edges);
}

void FillRules(const SampleRefs& samples, DecidingRules& rules, v1::Samples& proto) {
  for (const auto* sample : samples) {
    const DecidingRules::Decision decision = rules.Of(*sample);
    proto.add_rule(decision.rule);
    proto.add_rule_node(decision.node);
  }
  if (std::ranges::any_of(proto.rule(), [](auto rule) { return rule != 0; })) return;
  proto.clear_rule();
  proto.clear_rule_node();
}

void FillPaths(const aggregate::Profile& profile, const SampleRefs& samples, v1::Profile& proto) {
  proto.set_wakers(profile.wakers);
  if (profile.paths.size() <= 1) return;
  for (const auto* sample : samples) proto.mutable_samples()->add_path(sample->path);
  for (std::size_t i = 1; i < profile.paths.size(); ++i) {  // the root is not sent
    const aggregate::PathNode& path = profile.paths[i];
    auto& added = *proto.add_paths();
    added.set_parent(path.parent);
    added.set_kind(static_cast<v1::PathKind>(path.kind));
    added.set_how(static_cast<v1::PathHow>(path.how));
    added.set_wait(static_cast<v1::WaitReason>(path.wait));
    added.set_estimated(path.estimated);
    added.set_thread(path.thread);
    added.set_node(path.node);
  }
  for (const aggregate::PathThread& thread : profile.path_threads) {
    auto& added = *proto.add_path_threads();
    added.set_tid(thread.shown_tid);
    added.set_start_ns(thread.key.start_ns);
    added.set_comm(ValidUtf8(thread.comm));
    added.set_pid(thread.shown_pid);
    added.set_process_start_ns(thread.process.start_ns);
    added.set_process_comm(ValidUtf8(thread.process_comm));
  }
  for (const aggregate::WakeUpCount& count : profile.wake_ups) {
    auto& added = *proto.add_wake_ups();
    added.set_thread(count.thread);
    added.set_waker(count.waker);
    added.set_wait(static_cast<v1::WaitReason>(count.wait));
    added.set_waits(count.waits);
    added.set_spurious(count.spurious);
  }
}

void FillLabels(const aggregate::Labels& labels,
                google::protobuf::RepeatedPtrField<v1::Label>& proto) {
  for (const auto& [name, value] : labels) {
    v1::Label& label = *proto.Add();
    label.set_name(ValidUtf8(name));
    label.set_value(ValidUtf8(value));
  }
}

void FillLabels(const aggregate::Profile& profile, const SampleRefs& samples, v1::Profile& proto) {
  if (profile.label_sets.empty()) return;
  for (const auto* sample : samples) proto.mutable_samples()->add_labels(sample->labels);
  for (const aggregate::Labels& labels : profile.label_sets) {
    FillLabels(labels, *proto.add_label_sets()->mutable_labels());
  }
}

void FillSteps(const aggregate::StepEvents& steps, v1::Profile& proto) {
  for (const aggregate::StepSource& source : steps.sources) {
    auto& added = *proto.add_step_sources();
    added.set_text(ValidUtf8(source.text));
    added.set_refused(ValidUtf8(source.refused));
    added.set_names(source.names);
    added.set_ends(source.ends);
  }
  if (steps.events.empty()) return;
  for (const std::string& name : steps.names) proto.add_step_names(ValidUtf8(name));
  v1::StepEvents& events = *proto.mutable_step_events();
  for (const aggregate::StepEvent& event : steps.events) {
    events.add_time_ns(event.time_ns);
    events.add_thread(event.thread);
    events.add_source(event.source);
    events.add_name(event.name);
    events.add_end(event.end);
  }
  if (std::ranges::all_of(steps.events, [](const auto& event) { return event.object == 0; }))
    return;
  for (const aggregate::StepEvent& event : steps.events) events.add_object(event.object);
}

void FillSwitches(const aggregate::ThreadSwitches& from, v1::Profile& proto) {
  if (!from.recorded) return;
  v1::Switches& switches = *proto.mutable_switches();
  for (const aggregate::ThreadSwitch& one : from.switches) {
    switches.add_thread(one.thread);
    switches.add_out_ns(one.out_ns);
    switches.add_ready_ns(one.ready_ns);
    switches.add_in_ns(one.in_ns);
    switches.add_reason(static_cast<v1::LeaveReason>(one.reason));
    switches.add_cpu(one.cpu);
    switches.add_woken_ns(one.woken_ns);
    switches.add_waker_pid(one.waker_pid);
    switches.add_waker_tid(one.waker_tid);
    switches.add_by_interrupt(one.by_interrupt);
  }
  for (const std::uint32_t thread : from.incomplete) switches.add_incomplete(thread);
}

void FillCounters(const aggregate::Profile& profile, const SampleRefs& samples,
                  v1::Profile& proto) {
  const aggregate::HardwareCounters& open = profile.counters_open;
  if (!open.requested) return;
  v1::HardwareCounters& counters = *proto.mutable_hardware_counters();
  const auto has = [&](profd_pmu_counter counter) { return (open.counted >> counter & 1) != 0; };
  counters.set_cycles(has(PROFD_PMU_CYCLES));
  counters.set_instructions(has(PROFD_PMU_INSTRUCTIONS));
  counters.set_cache_misses(has(PROFD_PMU_CACHE_MISSES));
  counters.set_missing(open.Missing());
  if (profile.sample_counts.empty()) return;
  v1::Samples& columns = *proto.mutable_samples();
  for (const auto* sample : samples) {
    const aggregate::HardwareCounts counts = sample->counts == 0
                                                 ? aggregate::HardwareCounts{}
                                                 : profile.sample_counts[sample->counts - 1];
    columns.add_counted_ns(counts.counted_ns);
    columns.add_cycles(counts.counts[PROFD_PMU_CYCLES]);
    columns.add_instructions(counts.counts[PROFD_PMU_INSTRUCTIONS]);
    columns.add_cache_misses(counts.counts[PROFD_PMU_CACHE_MISSES]);
  }
}

void FillCpus(const SampleRefs& samples, v1::Samples& proto) {
  if (std::ranges::none_of(samples, [](const auto* sample) { return sample->cpu != 0; })) return;
  for (const auto* sample : samples) proto.add_cpu(sample->cpu);
  const auto is_unknown = [](const auto* sample) {
    return sample->sibling == process::Sibling::kUnknown;
  };
  if (std::ranges::all_of(samples, is_unknown)) return;
  for (const auto* sample : samples) proto.add_sibling(static_cast<v1::Sibling>(sample->sibling));
}

void FillPlaces(const std::vector<CpuPlace>& places, v1::Profile& proto) {
  for (const CpuPlace& place : places) {
    v1::CpuPlace& added = *proto.add_cpu_places();
    added.set_cpu(place.cpu);
    added.set_core(place.core);
    if (place.cache) added.set_cache(*place.cache);
    added.set_node(place.node);
  }
}

// The last node and the last frame.
void AddStolenNode(v1::Profile& proto) {
  auto& frame = *proto.add_frames();
  frame.set_kind(v1::FRAME_PSEUDO);
  frame.set_name(std::string(kStolen));
  proto.add_nodes()->set_frame(static_cast<std::uint32_t>(proto.frames_size()) - 1);
}

template <typename List>
void Fill(const std::vector<NamedCount>& counts, List& proto) {
  for (const auto& count : counts) {
    auto& added = *proto.Add();
    added.set_name(count.name);
    added.set_text(count.text);
    added.set_count(count.count);
  }
}

void Fill(const aggregate::DumpThread& thread, v1::DumpThread& proto) {
  proto.set_tid(thread.shown_tid);
  proto.set_start_ns(thread.key.start_ns);
  proto.set_process(thread.process);
  proto.set_comm(ValidUtf8(thread.comm));
  proto.set_state(static_cast<v1::State>(thread.state));
  proto.set_wait(static_cast<v1::WaitReason>(thread.wait));
  proto.set_seen_ns(thread.seen_ns);
  proto.set_since_ns(thread.since_ns);
  proto.set_stack_ns(thread.stack_ns);
  for (const auto frame : thread.frames) proto.add_frame(frame);
  proto.set_no_stack(thread.no_stack);
  proto.set_stack_flags(thread.stack_flags);
  if (thread.uncertain_from) proto.set_uncertain_from(*thread.uncertain_from);
  proto.set_in_syscall(thread.syscall >= 0);
  if (thread.syscall >= 0) {
    proto.set_syscall(static_cast<std::uint32_t>(thread.syscall));
    for (const auto argument : thread.syscall_args) proto.add_syscall_arg(argument);
  }
  proto.set_python(thread.python);
  proto.set_gil(static_cast<v1::Gil>(thread.gil));
  proto.set_merge_failed(thread.merge_failed);
  if (thread.owner) proto.set_owner(*thread.owner + 1);
  FillLabels(thread.labels, *proto.mutable_label());
}

void Fill(const fleet::ExportStatus& from, v1::ExportStatus& proto) {
  proto.set_name(ValidUtf8(from.name));
  proto.set_to(ValidUtf8(from.to));
  proto.set_sent(from.sent);
  proto.set_sent_bytes(from.sent_bytes);
  proto.set_sent_until_unix_ns(from.sent_until_unix_ns);
  proto.set_retries(from.retries);
  proto.set_spool_profiles(from.spool_entries);
  proto.set_spool_bytes(from.spool_bytes);
  proto.set_spool_limit_bytes(from.spool_limit_bytes);
  for (const auto& [cause, ns] : from.gaps) {
    v1::NamedCount& gap = *proto.add_gaps_ns();
    gap.set_name(ValidUtf8(cause));
    gap.set_count(ns);
  }
  proto.set_last_error(ValidUtf8(from.last_error));
}

}  // namespace

v1::Profile ToProto(const aggregate::Profile& profile, const rules::RuleSet* rules) {
  v1::Profile proto;
  proto.set_target(ValidUtf8(profile.target));
  proto.set_start_ns(profile.start_ns);
  proto.set_end_ns(profile.end_ns);
  proto.set_start_unix_ns(profile.start_unix_ns);
  proto.set_on_cpu(profile.on_cpu);
  proto.set_off_cpu(profile.off_cpu);
  proto.set_on_cpu_period_ns(profile.on_cpu_period_ns);
  proto.set_off_cpu_period_ns(profile.off_cpu_period_ns);
  for (const aggregate::PeriodChange& change : profile.periods) {
    auto& added = *proto.add_periods();
    added.set_time_ns(change.time_ns);
    added.set_on_cpu_period_ns(change.on_cpu_period_ns);
    added.set_off_cpu_period_ns(change.off_cpu_period_ns);
  }
  proto.set_host(ValidUtf8(profile.host));
  proto.set_kernel(ValidUtf8(profile.kernel));
  proto.set_hook(ValidUtf8(profile.hook));
  proto.set_profd_version(ValidUtf8(profile.profd_version));
  proto.set_cpus(profile.cpus);
  FillPlaces(profile.cpu_places, proto);
  proto.set_no_hardware_counters(profile.no_hardware_counters);
  for (const auto& process : profile.processes) Fill(process, profile.host, *proto.add_processes());
  for (const auto& thread : profile.threads) Fill(thread, *proto.add_threads());
  Modules modules(proto);
  FrameOperators operators(rules, proto);
  const auto programs = aggregate::ProgramNames(profile.processes);
  for (const auto& frame : profile.frames) {
    auto& added = *proto.add_frames();
    Fill(frame, programs, added);
    added.set_module_info(modules.Add(frame.origin));
    operators.Mark(frame, added);
  }
  for (std::size_t i = 1; i < profile.nodes.size(); ++i) {  // the root is not sent
    auto& node = *proto.add_nodes();
    node.set_parent(profile.nodes[i].parent);
    node.set_frame(profile.nodes[i].frame);
  }
  const auto stolen = StolenSamples(profile, static_cast<std::uint32_t>(proto.nodes_size()) + 1);
  if (!stolen.empty()) AddStolenNode(proto);
  const SampleRefs samples = Merge(profile.samples, stolen);
  Fill(samples, *proto.mutable_samples());
  FillGil(samples, *proto.mutable_samples());
  FillEdges(samples, *proto.mutable_samples());
  DecidingRules deciding(profile, rules, proto);
  FillRules(samples, deciding, *proto.mutable_samples());
  FillPaths(profile, samples, proto);
  FillLabels(profile, samples, proto);
  FillSteps(profile.steps, proto);
  FillSwitches(profile.switches, proto);
  FillCpus(samples, *proto.mutable_samples());
  FillCounters(profile, samples, proto);
  Fill(profile.lost, *proto.mutable_lost());
  Fill(profile.dropped, *proto.mutable_dropped());
  Fill(profile.counters, *proto.mutable_counters());
  proto.set_daemon_cpu_ns(profile.cost.daemon_cpu_ns);
  proto.set_bpf_ns(profile.cost.bpf_ns);
  return proto;
}

v1::Started ToProto(std::uint32_t session, const pipeline::SessionStart& start) {
  v1::Started proto;
  proto.set_session(session);
  for (const auto& process : start.processes) Fill(process, "", *proto.add_processes());
  proto.set_threads(start.threads);
  proto.set_start_unix_ns(start.start_unix_ns);
  return proto;
}

v1::Progress ToProto(const pipeline::SessionProgress& progress) {
  v1::Progress proto;
  proto.set_elapsed_ns(progress.elapsed_ns);
  proto.set_samples(progress.samples);
  proto.set_lost(progress.lost);
  proto.set_threads(progress.threads);
  proto.set_finishing(progress.finishing);
  proto.set_target_gone(progress.target_gone);
  return proto;
}

v1::StatusResponse ToProto(const DaemonStatus& daemon, const pipeline::BackendStatus& backend,
                           const std::vector<SessionSummary>& sessions) {
  v1::StatusResponse proto;
  proto.set_version(PROFD_VERSION);
  proto.set_up_ns(daemon.up_ns);
  proto.set_daemon_cpu_ns(daemon.cpu_ns);
  proto.set_memory_bytes(daemon.resident_bytes);
  const auto& source = backend.source;
  proto.set_kernel(ValidUtf8(source.levels.kernel_release));
  proto.set_hook(ValidUtf8(source.levels.hook));
  proto.set_hook_reason(ValidUtf8(source.levels.hook_reason));
  proto.set_split(ValidUtf8(source.levels.split));
  proto.set_snapshot(ValidUtf8(source.levels.snapshot));
  proto.set_hooks_attached(source.hooks_attached);
  proto.set_observers(ValidUtf8(source.levels.observers));
  proto.set_on_cpu_clock(ValidUtf8(source.levels.on_cpu_clock));
  proto.set_hardware_counters(ValidUtf8(source.levels.counters));
  proto.set_online_cpus(source.online_cpus);
  proto.set_switches(source.switches);
  proto.set_bpf_ns(source.bpf_cost_ns);
  proto.set_map_bytes(source.map_bytes);
  for (const auto& session : sessions) {
    auto& added = *proto.add_sessions();
    added.set_id(session.id);
    added.set_target(ValidUtf8(session.target));
    added.set_elapsed_ns(session.progress.elapsed_ns);
    added.set_duration_ns(session.duration_ns);
    added.set_samples(session.progress.samples);
    added.set_client(ValidUtf8(session.client));
  }
  for (const auto& name : source.levels.missing_capabilities) {
    auto& added = *proto.add_missing_capabilities();
    added.set_name(name);
    added.set_cost(source::CostOf(name));
  }
  Fill(backend.lost, *proto.mutable_lost());
  Fill(backend.counters, *proto.mutable_counters());
  const auto& python = backend.python;
  auto& added_python = *proto.mutable_python();
  added_python.set_attached(python.attached);
  Fill(python.waiting, *added_python.mutable_waiting());
  Fill(python.refused, *added_python.mutable_refused());
  added_python.set_stacks(python.stacks);
  added_python.set_not_merged(python.not_merged);
  added_python.set_cut(python.cut);
  added_python.set_names_stale(python.names_stale);
  added_python.set_names_unknown(python.names_unknown);
  auto& budget = *proto.mutable_budget();
  Fill(backend.budget.sampling.requested, *budget.mutable_sessions());
  Fill(backend.budget.sampling.background, *budget.mutable_history());
  budget.set_clock_limit_cpus(backend.budget.clock.limit_cpus);
  budget.set_clock_cpus(backend.budget.clock.spent_cpus);
  budget.set_clock_needed_cpus(backend.budget.clock.needed_cpus);
  budget.set_hooks_refused(backend.budget.clock.hooks_refused);
  if (backend.memory) {
    auto& memory = *proto.mutable_memory();
    memory.set_cap_bytes(backend.memory->cap_bytes);
    memory.set_used_bytes(backend.memory->used_bytes);
    memory.set_peak_bytes(backend.memory->peak_bytes);
    memory.set_reclaim_requested_bytes(backend.memory->reclaim_requested_bytes);
    memory.set_dropping(backend.memory->dropping);
    for (const auto& holder : backend.memory->holders) {
      auto& added = *memory.add_holders();
      added.set_name(holder.name);
      added.set_bytes(holder.bytes);
    }
  }
  proto.set_replay_file(ValidUtf8(backend.replay_file));
  proto.set_recording_file(ValidUtf8(backend.recording_file));
  for (const fleet::ExportStatus& one : backend.exports) Fill(one, *proto.add_exports());
  for (const std::string& one : backend.container_runtimes)
    proto.add_container_runtimes(ValidUtf8(one));
  for (const std::string& one : backend.degraded) proto.add_degraded(ValidUtf8(one));
  for (const std::string& one : backend.unreadable) proto.add_unreadable(ValidUtf8(one));
  return proto;
}

grpc::Status ToStatus(const Error& error) {
  const auto code = [&] {
    switch (error.code) {
      case ErrorCode::kInvalidArgument:
        return grpc::StatusCode::INVALID_ARGUMENT;
      case ErrorCode::kNotFound:
        return grpc::StatusCode::NOT_FOUND;
      case ErrorCode::kPermissionDenied:
        return grpc::StatusCode::PERMISSION_DENIED;
      case ErrorCode::kUnsupported:
        return grpc::StatusCode::FAILED_PRECONDITION;
      case ErrorCode::kExhausted:
        return grpc::StatusCode::RESOURCE_EXHAUSTED;
      case ErrorCode::kUnavailable:
        return grpc::StatusCode::UNAVAILABLE;
      case ErrorCode::kIo:
      case ErrorCode::kCorrupt:
        return grpc::StatusCode::DATA_LOSS;
      case ErrorCode::kInternal:
        return grpc::StatusCode::INTERNAL;
    }
    return grpc::StatusCode::UNKNOWN;
  }();
  return grpc::Status(
      code, ValidUtf8(error.hint.empty() ? error.message : error.message + "\n" + error.hint));
}

v1::Dump ToProto(const aggregate::Dump& dump, const rules::RuleSet* rules) {
  v1::Dump proto;
  proto.set_time_ns(dump.time_ns);
  proto.set_time_unix_ns(dump.time_unix_ns);
  proto.set_took_ns(dump.took_ns);
  proto.set_host(ValidUtf8(dump.host));
  proto.set_kernel(ValidUtf8(dump.kernel));
  proto.set_profd_version(ValidUtf8(dump.profd_version));
  for (const auto& process : dump.processes) Fill(process, dump.host, *proto.add_processes());
  const aggregate::DumpRules deciding(dump, rules);
  for (const auto& thread : dump.threads) {
    auto& added = *proto.add_threads();
    Fill(thread, added);
    if (const auto rule = deciding.Of(thread)) Fill(rules->rules()[*rule], *added.mutable_rule());
  }
  const auto programs = aggregate::ProgramNames(dump.processes);
  for (const auto& frame : dump.frames) {
    auto& added = *proto.add_frames();
    Fill(frame, programs, added);
    FrameOperators::Name(rules, frame, added);
  }
  proto.set_threads_left_out(dump.threads_left_out);
  return proto;
}

v1::HistoryStatus ToProto(const history::HistoryStatus& history) {
  const auto& store = history.store;
  v1::HistoryStatus proto;
  proto.set_path(ValidUtf8(store.path));
  proto.set_bytes(store.bytes);
  proto.set_limit_bytes(store.limit_bytes);
  proto.set_limit_ns(store.limit_ns);
  proto.set_windows(store.windows);
  proto.set_first_unix_ns(store.first_unix_ns);
  proto.set_last_unix_ns(store.last_unix_ns);
  proto.set_failed_puts(store.failed_puts);
  proto.set_last_error(ValidUtf8(store.last_error));
  for (const auto& loss : store.losses) proto.add_losses(ValidUtf8(loss));
  proto.set_on_cpu_period_ns(history.on_cpu_period_ns);
  proto.set_off_cpu_period_ns(history.off_cpu_period_ns);
  proto.set_window_ns(history.window_ns);
  proto.set_windows_lost(history.windows_lost);
  proto.set_observed(history.observed);
  return proto;
}

}  // namespace profd::server
