#include "client/profile/check_profile.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "profd/v1/dump.pb.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {
namespace {

Error Corrupt(std::string what) {
  return Error{ErrorCode::kCorrupt, "the profile is damaged: " + std::move(what), ""};
}

Error OutOfRange(std::string_view what, int index, std::string_view points_at, std::uint64_t value,
                 int size) {
  return Corrupt(std::string(what) + " " + std::to_string(index) + " points at " +
                 std::string(points_at) + " " + std::to_string(value) + " of " +
                 std::to_string(size));
}

bool Fits(std::uint64_t index, int size) { return index < static_cast<std::uint64_t>(size); }

Result<void> CheckStacks(const v1::Profile& profile) {
  std::vector<std::uint32_t> depths{0};
  depths.reserve(static_cast<std::size_t>(profile.nodes_size()) + 1);
  for (int i = 0; i < profile.nodes_size(); ++i) {
    const v1::StackNode& node = profile.nodes(i);
    if (!Fits(node.frame(), profile.frames_size()))
      return OutOfRange("stack node", i + 1, "frame", node.frame(), profile.frames_size());
    if (node.parent() >= depths.size())
      return Corrupt("stack node " + std::to_string(i + 1) + " stands before its parent");
    depths.push_back(depths[node.parent()] + 1);
    if (depths.back() > kMaxStackDepth)
      return Corrupt("a stack is deeper than " + std::to_string(kMaxStackDepth) + " frames");
  }
  return {};
}

Result<void> CheckColumns(const v1::Samples& samples) {
  const int size = samples.weight_ns_size();
  const int sizes[] = {
      samples.time_ns_size(), samples.raw_weight_ns_size(), samples.thread_size(),
      samples.node_size(),    samples.state_size(),         samples.wait_size(),
      samples.count_size(),   samples.exact_size(),         samples.stack_flags_size()};
  for (const int other : sizes)
    if (other != size) return Corrupt("its sample columns differ in length");
  if (samples.gil_size() != 0 && samples.gil_size() != size)
    return Corrupt("its sample columns differ in length");
  if (samples.edges_size() != 0 && samples.edges_size() != size)
    return Corrupt("its sample columns differ in length");
  if (samples.rule_size() != 0 && samples.rule_size() != size)
    return Corrupt("its sample columns differ in length");
  if (samples.path_size() != 0 && samples.path_size() != size)
    return Corrupt("its sample columns differ in length");
  if (samples.labels_size() != 0 && samples.labels_size() != size)
    return Corrupt("its sample columns differ in length");
  if (samples.cpu_size() != 0 && samples.cpu_size() != size)
    return Corrupt("its sample columns differ in length");
  if (samples.sibling_size() != 0 && samples.sibling_size() != size)
    return Corrupt("its sample columns differ in length");
  // They are read together.
  const int counted = samples.counted_ns_size();
  if ((counted != 0 && counted != size) || samples.cycles_size() != counted ||
      samples.instructions_size() != counted || samples.cache_misses_size() != counted)
    return Corrupt("its sample columns differ in length");
  if (samples.rule_node_size() != samples.rule_size())
    return Corrupt("its sample columns differ in length");
  return {};
}

// A path of any length is walked by who reads it.
Result<void> CheckPaths(const v1::Profile& profile) {
  constexpr std::uint32_t kMaxSteps = 64;
  std::vector<std::uint32_t> lengths{0};
  for (int i = 0; i < profile.paths_size(); ++i) {
    const v1::PathNode& path = profile.paths(i);
    if (path.parent() >= lengths.size())
      return Corrupt("path " + std::to_string(i + 1) + " stands before its parent");
    lengths.push_back(lengths[path.parent()] + 1);
    if (lengths.back() > kMaxSteps)
      return Corrupt("a path has more than " + std::to_string(kMaxSteps) + " steps");
    if (!Fits(path.thread(), profile.path_threads_size() + 1))
      return OutOfRange("path", i + 1, "thread", path.thread(), profile.path_threads_size() + 1);
    if (!Fits(path.node(), profile.nodes_size() + 1))
      return OutOfRange("path", i + 1, "stack node", path.node(), profile.nodes_size() + 1);
  }
  for (int i = 0; i < profile.wake_ups_size(); ++i) {
    const v1::WakeUps& wake_ups = profile.wake_ups(i);
    if (!Fits(wake_ups.thread(), profile.threads_size()))
      return OutOfRange("wake-up", i, "thread", wake_ups.thread(), profile.threads_size());
    if (!Fits(wake_ups.waker(), profile.path_threads_size()))
      return OutOfRange("wake-up", i, "waker", wake_ups.waker(), profile.path_threads_size());
  }
  return {};
}

Result<void> CheckSteps(const v1::Profile& profile) {
  const v1::StepEvents& events = profile.step_events();
  const int size = events.time_ns_size();
  for (const int other :
       {events.thread_size(), events.source_size(), events.name_size(), events.end_size()})
    if (other != size) return Corrupt("its columns of step events differ in length");
  if (events.object_size() != 0 && events.object_size() != size)
    return Corrupt("its columns of step events differ in length");
  for (int i = 0; i < size; ++i) {
    if (!Fits(events.thread(i), profile.threads_size()))
      return OutOfRange("step event", i, "thread", events.thread(i), profile.threads_size());
    if (!Fits(events.source(i), profile.step_sources_size()))
      return OutOfRange("step event", i, "source", events.source(i), profile.step_sources_size());
    if (!Fits(events.name(i), profile.step_names_size()))
      return OutOfRange("step event", i, "name", events.name(i), profile.step_names_size());
    if (i > 0 && events.time_ns(i) < events.time_ns(i - 1))
      return Corrupt("its step events are not in order of time");
  }
  return {};
}

// Who reads them relies on their order.
Result<void> CheckSwitches(const v1::Profile& profile) {
  const v1::Switches& switches = profile.switches();
  const int size = switches.thread_size();
  for (const int other :
       {switches.out_ns_size(), switches.ready_ns_size(), switches.in_ns_size(),
        switches.reason_size(), switches.cpu_size(), switches.woken_ns_size(),
        switches.waker_pid_size(), switches.waker_tid_size(), switches.by_interrupt_size()})
    if (other != size) return Corrupt("its columns of switches differ in length");
  for (int i = 0; i < size; ++i) {
    if (!Fits(switches.thread(i), profile.threads_size()))
      return OutOfRange("switch", i, "thread", switches.thread(i), profile.threads_size());
    const bool open = switches.in_ns(i) == 0;
    if (switches.ready_ns(i) < switches.out_ns(i) ||
        (!open && switches.in_ns(i) < switches.ready_ns(i)))
      return Corrupt("switch " + std::to_string(i) + " ends before it begins");
    if (i == 0 || switches.thread(i) != switches.thread(i - 1)) {
      if (i > 0 && switches.thread(i) < switches.thread(i - 1))
        return Corrupt("its switches are not in order of threads");
      continue;
    }
    if (switches.in_ns(i - 1) == 0 || switches.out_ns(i) < switches.in_ns(i - 1))
      return Corrupt("switch " + std::to_string(i) + " begins before the thread is back");
  }
  for (const std::uint32_t thread : switches.incomplete())
    if (!Fits(thread, profile.threads_size()))
      return Corrupt("its switches are incomplete for a thread that it does not have");
  return {};
}

Result<void> CheckSamples(const v1::Profile& profile) {
  const v1::Samples& samples = profile.samples();
  PROFD_TRY(CheckColumns(samples));
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t weight = 0;
  std::uint64_t count = 0;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    if (!Fits(samples.thread(i), profile.threads_size()))
      return OutOfRange("sample", i, "thread", samples.thread(i), profile.threads_size());
    if (!Fits(samples.node(i), profile.nodes_size() + 1))
      return OutOfRange("sample", i, "stack node", samples.node(i), profile.nodes_size() + 1);
    if (samples.rule_size() != 0 && !Fits(samples.rule(i), profile.rules_size() + 1))
      return OutOfRange("sample", i, "rule", samples.rule(i), profile.rules_size() + 1);
    if (samples.rule_size() != 0 && !Fits(samples.rule_node(i), profile.nodes_size() + 1))
      return OutOfRange("sample", i, "node of its rule", samples.rule_node(i),
                        profile.nodes_size() + 1);
    if (samples.path_size() != 0 && !Fits(samples.path(i), profile.paths_size() + 1))
      return OutOfRange("sample", i, "path", samples.path(i), profile.paths_size() + 1);
    if (samples.labels_size() != 0 && !Fits(samples.labels(i), profile.label_sets_size() + 1))
      return OutOfRange("sample", i, "labels", samples.labels(i), profile.label_sets_size() + 1);
    if (!v1::State_IsValid(samples.state(i)))
      return Corrupt("sample " + std::to_string(i) + " is in no known state");
    if (samples.weight_ns(i) > kMost - weight) return Corrupt("its weights add up to too much");
    weight += samples.weight_ns(i);
    count += samples.count(i);  // 2^31 samples of 2^32 at most: cannot overflow
  }
  if (count > kMost) return Corrupt("its counts add up to too much");
  return {};
}

Result<void> CheckConcurrency(const v1::Profile& profile) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (int i = 0; i < profile.processes_size(); ++i) {
    std::uint64_t running = 0;
    std::uint64_t wanting = 0;
    std::int64_t before = -1;
    for (const v1::Concurrency::Level& level : profile.processes(i).concurrency().levels()) {
      if (level.threads() <= before || level.running() > kMost - running ||
          level.wanting() > kMost - wanting)
        return Corrupt("the concurrency of process " + std::to_string(i) + " makes no sense");
      before = level.threads();
      running += level.running();
      wanting += level.wanting();
    }
    if (running != wanting)
      return Corrupt("the concurrency of process " + std::to_string(i) + " does not add up");
  }
  return {};
}

bool IsSound(const v1::Dump& dump, const v1::DumpThread& thread) {
  return Fits(thread.process(), dump.processes_size()) &&
         Fits(thread.owner(), dump.threads_size() + 1) && v1::State_IsValid(thread.state()) &&
         std::ranges::all_of(thread.frame(),
                             [&](auto frame) { return Fits(frame, dump.frames_size()); });
}

}  // namespace

Result<void> CheckProfile(const v1::Profile& profile) {
  for (int i = 0; i < profile.threads_size(); ++i)
    if (!Fits(profile.threads(i).process(), profile.processes_size()))
      return OutOfRange("thread", i, "process", profile.threads(i).process(),
                        profile.processes_size());
  for (int i = 0; i < profile.frames_size(); ++i) {
    const std::uint32_t module = profile.frames(i).module_info();
    if (module != 0 && !Fits(module - 1, profile.modules_size()))
      return OutOfRange("frame", i, "module", module - 1, profile.modules_size());
    if (!Fits(profile.frames(i).op(), profile.operators_size() + 1))
      return OutOfRange("frame", i, "operator", profile.frames(i).op(),
                        profile.operators_size() + 1);
  }
  PROFD_TRY(CheckStacks(profile));
  PROFD_TRY(CheckConcurrency(profile));
  PROFD_TRY(CheckPaths(profile));
  PROFD_TRY(CheckSteps(profile));
  PROFD_TRY(CheckSwitches(profile));
  return CheckSamples(profile);
}

Result<void> CheckDump(const v1::Dump& dump) {
  for (const v1::DumpThread& thread : dump.threads())
    if (!IsSound(dump, thread))
      return Error{ErrorCode::kCorrupt,
                   "the dump is damaged in thread " + std::to_string(thread.tid()), ""};
  return {};
}

}  // namespace profd::client
