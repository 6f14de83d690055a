#include "client/profile/profile_parts.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "client/profile/check_profile.h"
#include "client/profile/host_names.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "daemon/base/files.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {
namespace {

// Appends sample number `index` of `from`, which has passed CheckProfile.
void CopySample(const v1::Samples& from, int index, v1::Samples& to) {
  to.add_time_ns(from.time_ns(index));
  to.add_raw_weight_ns(from.raw_weight_ns(index));
  to.add_weight_ns(from.weight_ns(index));
  to.add_thread(from.thread(index));
  to.add_node(from.node(index));
  to.add_state(from.state(index));
  to.add_wait(from.wait(index));
  to.add_count(from.count(index));
  to.add_exact(from.exact(index));
  to.add_stack_flags(from.stack_flags(index));
  if (from.gil_size() > 0) to.add_gil(from.gil(index));
  if (from.edges_size() > 0) to.add_edges(from.edges(index));
  if (from.rule_size() > 0) {
    to.add_rule(from.rule(index));
    to.add_rule_node(from.rule_node(index));
  }
  if (from.path_size() > 0) to.add_path(from.path(index));
  if (from.labels_size() > 0) to.add_labels(from.labels(index));
  if (from.cpu_size() > 0) to.add_cpu(from.cpu(index));
  if (from.sibling_size() > 0) to.add_sibling(from.sibling(index));
  if (from.counted_ns_size() > 0) {
    to.add_counted_ns(from.counted_ns(index));
    to.add_cycles(from.cycles(index));
    to.add_instructions(from.instructions(index));
    to.add_cache_misses(from.cache_misses(index));
  }
}

constexpr std::uint32_t kLeftOut = ~0u;

// `threads`: the new number of each, or kLeftOut.
v1::Switches OnlySwitches(const v1::Switches& from, const std::vector<std::uint32_t>& threads) {
  v1::Switches to;
  for (int i = 0; i < from.thread_size(); ++i) {
    if (threads[from.thread(i)] == kLeftOut) continue;
    to.add_thread(threads[from.thread(i)]);
    to.add_out_ns(from.out_ns(i));
    to.add_ready_ns(from.ready_ns(i));
    to.add_in_ns(from.in_ns(i));
    to.add_reason(from.reason(i));
    to.add_cpu(from.cpu(i));
    to.add_woken_ns(from.woken_ns(i));
    to.add_waker_pid(from.waker_pid(i));
    to.add_waker_tid(from.waker_tid(i));
    to.add_by_interrupt(from.by_interrupt(i));
  }
  for (const std::uint32_t thread : from.incomplete())
    if (threads[thread] != kLeftOut) to.add_incomplete(threads[thread]);
  return to;
}

Result<std::uint32_t> ParseId(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc{} && end == text.data() + text.size() && id != 0) return id;
  return Error{ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is no number of a process",
               ""};
}

constexpr std::array<std::string_view, 8> kTexts{"comm", "exe",  "cgroup", "container",
                                                 "unit", "user", "thread", "host"};

bool Fits(std::string_view key, const std::string& value, const v1::Process& process,
          const v1::Thread& thread) {
  if (key == "comm") return value == process.comm();
  if (key == "cgroup") return value == process.cgroup();
  if (key == "container") return value == process.container();
  if (key == "thread") return value == thread.comm();
  if (key == "host") return value == HostOf(process);
  if (key == "unit") return value == process.unit() || value + ".service" == process.unit();
  if (key == "user")
    return value == process.user() || (process.has_uid() && value == std::to_string(process.uid()));
  const std::string& path = process.executable();
  return value == path || value == BaseName(path);
}

bool Holds(const ThreadFilter& filter, const v1::Profile& profile, const v1::Thread& thread) {
  const v1::Process& process = profile.processes(static_cast<int>(thread.process()));
  return (!filter.pid || *filter.pid == process.pid()) &&
         (!filter.tid || *filter.tid == thread.tid()) &&
         std::ranges::all_of(filter.texts, [&](const auto& text) {
           return Fits(text.first, text.second, process, thread);
         });
}

// No thread held the GIL: mostly because the target has no interpreter that profd supports.
Error NoHolder(const v1::Profile& profile) {
  Error error{ErrorCode::kNotFound, "no data: nothing is known of a Python interpreter there",
              "--gil is for CPython; without it all time is shown"};
  for (const v1::Process& process : profile.processes()) {
    if (process.python().empty()) continue;
    error.message = "no data: no sample has the GIL";
    if (process.python_refused().empty()) continue;
    error.message = "no data: " + ProcessName(process) + ": " + SafeName(process.python_refused());
    return error;
  }
  return error;
}

// `holds`: by thread.
v1::Profile Only(const v1::Profile& profile, const std::vector<bool>& holds) {
  v1::Profile only = profile;
  only.clear_threads();
  only.clear_processes();
  only.clear_samples();
  std::vector<std::uint32_t> processes(static_cast<std::size_t>(profile.processes_size()),
                                       kLeftOut);
  std::vector<bool> cut(processes.size());  // without some of its threads
  std::vector<std::uint32_t> threads;
  threads.reserve(holds.size());
  for (const v1::Thread& thread : profile.threads()) {
    const bool stays = holds[threads.size()];
    threads.push_back(kLeftOut);
    if (!stays) {
      cut[thread.process()] = true;
      continue;
    }
    std::uint32_t& process = processes[thread.process()];
    if (process == kLeftOut) {
      process = static_cast<std::uint32_t>(only.processes_size());
      *only.add_processes() = profile.processes(static_cast<int>(thread.process()));
    }
    threads.back() = static_cast<std::uint32_t>(only.threads_size());
    *only.add_threads() = thread;
    only.mutable_threads()->rbegin()->set_process(process);
  }
  for (std::size_t i = 0; i < cut.size(); ++i)
    if (cut[i] && processes[i] != kLeftOut)
      only.mutable_processes(static_cast<int>(processes[i]))->clear_concurrency();
  only.clear_wake_ups();
  for (const v1::WakeUps& wake_ups : profile.wake_ups()) {
    if (threads[wake_ups.thread()] == kLeftOut) continue;
    *only.add_wake_ups() = wake_ups;
    only.mutable_wake_ups()->rbegin()->set_thread(threads[wake_ups.thread()]);
  }
  only.clear_step_events();
  const v1::StepEvents& events = profile.step_events();
  for (int i = 0; i < events.time_ns_size(); ++i) {
    if (threads[events.thread(i)] == kLeftOut) continue;
    v1::StepEvents& left = *only.mutable_step_events();
    left.add_time_ns(events.time_ns(i));
    left.add_thread(threads[events.thread(i)]);
    left.add_source(events.source(i));
    left.add_name(events.name(i));
    left.add_end(events.end(i));
  }
  if (profile.has_switches()) *only.mutable_switches() = OnlySwitches(profile.switches(), threads);
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const std::uint32_t thread = threads[samples.thread(i)];
    if (thread == kLeftOut) continue;
    CopySample(samples, i, *only.mutable_samples());
    only.mutable_samples()->mutable_thread()->Set(only.samples().thread_size() - 1, thread);
  }
  return only;
}

}  // namespace

Result<ThreadFilter> ThreadFilter::Parse(std::string_view text) {
  ThreadFilter filter;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = part.substr(std::min(part.size(), equals + 1));
    if (key == "pid" || key == "tid") {
      const Result<std::uint32_t> id = ParseId(value);
      if (!id) return id.error();
      (key == "pid" ? filter.pid : filter.tid) = *id;
    } else if (std::ranges::find(kTexts, key) != kTexts.end() && !value.empty()) {
      filter.texts.emplace_back(key, value);
    } else {
      return Error{
          ErrorCode::kInvalidArgument, "'" + std::string(part) + "' is no filter",
          "write pid=N or tid=N, or comm, exe, cgroup, container, unit, user or thread=NAME, "
          "with a comma between two"};
    }
  }
  return filter;
}

Result<v1::Profile> OnlyThreads(const v1::Profile& profile, const ThreadFilter& filter) {
  std::vector<bool> holds;
  holds.reserve(static_cast<std::size_t>(profile.threads_size()));
  for (const v1::Thread& thread : profile.threads())
    holds.push_back(Holds(filter, profile, thread));
  if (std::ranges::find(holds, true) == holds.end())
    return Error{ErrorCode::kNotFound, "no data: no thread is left by the filter", ""};
  return Only(profile, holds);
}

v1::Profile WhatFits(const v1::Profile& left, const std::string& filter) {
  std::vector<bool> holds(static_cast<std::size_t>(left.threads_size()));
  for (const std::uint32_t thread : left.samples().thread()) holds[thread] = true;
  v1::Profile part = Only(left, holds);
  part.set_filter(left.filter().empty() ? filter : "(" + left.filter() + ") and (" + filter + ")");
  part.clear_wake_ups();
  part.clear_switches();
  for (v1::Thread& thread : *part.mutable_threads()) {
    thread.clear_clock();
    thread.clear_counters();
    thread.set_clock_missing(true);
    thread.set_closure_error(0);
  }
  for (v1::Process& process : *part.mutable_processes()) process.clear_concurrency();
  return part;
}

Result<v1::Profile> OnlyGil(const v1::Profile& profile) {
  PROFD_TRY(CheckProfile(profile));
  if (profile.only_gil()) return profile;
  v1::Profile held = profile;
  held.clear_samples();
  held.set_only_gil(true);
  const v1::Samples& samples = profile.samples();
  std::uint64_t unknown = 0;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const v1::Gil gil = GilOf(samples, i);
    if (gil == v1::GIL_UNKNOWN) unknown += samples.count(i);
    if (gil == v1::GIL_HELD) CopySample(samples, i, *held.mutable_samples());
  }
  if (held.samples().weight_ns_size() == 0) return NoHolder(profile);
  if (unknown == 0) return held;
  v1::NamedCount& note = *held.add_counters();
  note.set_name("gil_unknown");
  note.set_text("samples left out: it is unknown whether they held the GIL");
  note.set_count(unknown);
  return held;
}

std::optional<v1::Profile> WithoutInterpreterFrames(const v1::Profile& profile) {
  if (std::ranges::none_of(profile.frames(), &v1::Frame::interpreter) || !CheckProfile(profile))
    return std::nullopt;
  v1::Profile shown = profile;
  shown.clear_nodes();
  // By the number of a node (0 is the root): its number in `shown`, where parents come first, too.
  std::vector<std::uint32_t> numbers{0};
  for (const v1::StackNode& node : profile.nodes()) {
    const std::uint32_t parent = numbers[node.parent()];
    if (profile.frames(static_cast<int>(node.frame())).interpreter()) {
      numbers.push_back(parent);
      continue;
    }
    v1::StackNode& kept = *shown.add_nodes();
    kept.set_parent(parent);
    kept.set_frame(node.frame());
    numbers.push_back(static_cast<std::uint32_t>(shown.nodes_size()));
  }
  v1::Samples& samples = *shown.mutable_samples();
  for (std::uint32_t& node : *samples.mutable_node()) node = numbers[node];
  for (std::uint32_t& node : *samples.mutable_rule_node()) node = numbers[node];
  for (v1::PathNode& path : *shown.mutable_paths()) path.set_node(numbers[path.node()]);
  return shown;
}

}  // namespace profd::client
