#include "tests/unit/store/window_maker.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "daemon/aggregate/weights/weights.h"

namespace profd::store {
namespace {

using aggregate::Profile;
using process::State;
using process::WaitReason;

constexpr std::uint64_t kPeriodNs = 50'000'000;

class Maker {
 public:
  Maker(std::uint64_t index, const HostShape& shape)
      : index_(index),
        shape_(shape),
        random_(static_cast<std::uint32_t>(index) * 7919 + shape.seed) {
    profile_.target = "all processes";
    profile_.host = "testhost";
    profile_.kernel = "6.1.0";
    profile_.hook = "sched_exit_tp";
    profile_.profd_version = "0.1.0";
    profile_.start_ns = (1000 + index * 10) * kSecond;
    profile_.end_ns = profile_.start_ns + 10 * kSecond;
    profile_.start_unix_ns = kStartUnixNs + index * 10 * kSecond;
    profile_.on_cpu_period_ns = kPeriodNs;
    profile_.off_cpu_period_ns = 2 * kPeriodNs;
    if (index % 5 == 2) profile_.periods = {{profile_.start_ns + kSecond, 2 * kPeriodNs, 0}};
    profile_.nodes.resize(1);
    profile_.cost = {index + 1, 2};
    profile_.lost = {{"ring_full", "samples lost: ring full", 1 + index % 3}};
  }

  Profile Make() {
    for (std::uint32_t p = 0; p < shape_.processes; ++p) {
      AddProcess(p);
      for (std::uint32_t t = 0; t < shape_.threads_each; ++t) AddThread(p, t);
    }
    if (shape_.wakers) AddPaths();
    std::stable_sort(profile_.samples.begin(), profile_.samples.end(),
                     [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    return std::move(profile_);
  }

 private:
  std::uint32_t Below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_()) % bound; }

  void AddProcess(std::uint32_t p) {
    aggregate::ProfileProcess process;
    process.key = {1000 + p * 100, 5'000'000 + p};
    process.shown_pid = process.key.pid;
    process.comm = "service-" + std::to_string(p);
    process.command_line = "/usr/bin/service --number " + std::to_string(p);
    process.executable = "/usr/bin/service-" + std::to_string(p % 3);
    process.cgroup = "/system.slice/service-" + std::to_string(p) + ".service";
    process.unit = "service-" + std::to_string(p) + ".service";
    process.container = p == 2 ? "0123abcd" : "";
    if (p != 3) process.owner = {100 + p, p % 2 == 0, "user-" + std::to_string(p)};
    process.build_id = "feed" + std::to_string(p);
    if (p == 1)
      process.interpreter = std::make_shared<const process::PythonInterpreter>(
          process::PythonInterpreter{"3.11.2", ""});
    profile_.processes.push_back(std::move(process));
  }

  void AddThread(std::uint32_t p, std::uint32_t t) {
    aggregate::ProfileThread thread;
    thread.key = {1000 + p * 100 + t, 5'000'000 + p * 1000 + t};
    thread.shown_tid = thread.key.tid;
    thread.process = p;
    thread.comm = t == 0 ? "service-" + std::to_string(p) : "worker-" + std::to_string(t);
    thread.begin_ns = profile_.start_ns;
    thread.end_ns = profile_.end_ns;
    const std::uint64_t length = thread.end_ns - thread.begin_ns;
    auto& clock = thread.clock;
    const bool idle = t % 3 == 2;
    if (!idle) {
      clock.on_cpu_ns = length / 3 + Below(1'000'000'000);
      clock.on_cpu_count = 1 + Below(5'000);
      clock.runnable_ns[PROFD_AFTER_WAKEUP] = Below(9'000'000);
      clock.runnable_ns[PROFD_AFTER_PREEMPTION] = Below(90'000);
      clock.runnable_count[PROFD_AFTER_WAKEUP] = clock.on_cpu_count;
      clock.blocked_ns[PROFD_IOWAIT] = Below(100'000);
      clock.migrations = Below(300);
      clock.stolen_ns[t % 3 == 0 ? PROFD_STOLEN_EXACT : PROFD_STOLEN_SPREAD] = Below(90'000'000);
    }
    clock.blocked_ns[PROFD_INTERRUPTIBLE] =
        length - (aggregate::ClockTotal(clock) - clock.blocked_ns[PROFD_INTERRUPTIBLE]);
    profile_.threads.push_back(thread);
    const auto first = profile_.samples.size();
    if (idle) {
      AddSample(State::kBlocked, WaitReason::kPoll, Node(p, 0), length, 1);
      profile_.samples.back().exact = true;
      profile_.samples.back().time_ns = profile_.start_ns;
    } else {
      for (std::uint32_t i = 0; i < shape_.samples_each; ++i) AddRandomSample(p);
      AddSample(State::kOnCpu, WaitReason::kNone, Node(p, 1), kPeriodNs, 1);
      AddSample(State::kRunnable, WaitReason::kNone, Node(p, 1), 2 * kPeriodNs, 1);
      AddSample(State::kBlocked, WaitReason::kSleep, Node(p, 2), 2 * kPeriodNs, 1);
    }
    Scale(first);
  }

  void AddRandomSample(std::uint32_t p) {
    const std::uint32_t count = 1 + Below(3);
    const auto node = Node(p, Below(shape_.stacks_each));
    if (Below(3) != 0) {
      AddSample(State::kOnCpu, WaitReason::kNone, node, count * kPeriodNs, count);
    } else {
      const auto wait = static_cast<WaitReason>(1 + Below(12));
      AddSample(State::kBlocked, wait, node, count * 2 * kPeriodNs - Below(2) * Below(1'000'000),
                count);
    }
  }

  void AddSample(State state, WaitReason wait, std::uint32_t node, std::uint64_t raw_ns,
                 std::uint32_t count) {
    aggregate::ProfileSample sample;
    sample.time_ns = profile_.start_ns + static_cast<std::uint64_t>(random_()) % (10 * kSecond);
    sample.raw_weight_ns = raw_ns;
    sample.thread = static_cast<std::uint32_t>(profile_.threads.size() - 1);
    sample.node = node;
    sample.state = state;
    sample.wait = wait;
    sample.count = count;
    sample.stack_flags = static_cast<std::uint16_t>(Below(8) == 0 ? PROFD_STACK_USER_TRUNCATED
                                                                  : PROFD_STACK_COMPLETE);
    profile_.samples.push_back(sample);
  }

  void Scale(std::size_t first) {
    const auto& clock = profile_.threads.back().clock;
    const std::uint64_t of_state[] = {
        clock.on_cpu_ns, clock.runnable_ns[0] + clock.runnable_ns[1] + clock.runnable_ns[2],
        clock.blocked_ns[0] + clock.blocked_ns[1] + clock.blocked_ns[2]};
    for (int state = 0; state < 3; ++state) {
      std::vector<std::size_t> indices;
      std::vector<aggregate::WeightedSample> weighted;
      for (std::size_t i = first; i < profile_.samples.size(); ++i) {
        const auto& sample = profile_.samples[i];
        if (static_cast<int>(sample.state) != state) continue;
        indices.push_back(i);
        weighted.push_back({sample.raw_weight_ns, sample.exact, 0});
      }
      static_cast<void>(aggregate::ScaleToClock(weighted, of_state[state]));
      for (std::size_t i = 0; i < indices.size(); ++i)
        profile_.samples[indices[i]].weight_ns = weighted[i].weight_ns;
    }
  }

  void AddPaths() {
    profile_.wakers = true;
    profile_.paths.resize(1);
    for (const auto& thread : profile_.threads)
      profile_.path_threads.push_back(
          DescribePathThread(thread, profile_.processes[thread.process]));
    profile_.path_threads.push_back(
        {.key = {9, index_}, .process = {}, .comm = "gone", .process_comm = "gone too"});
    const auto threads = static_cast<std::uint32_t>(profile_.path_threads.size());
    for (auto& sample : profile_.samples) {
      if (sample.state != State::kBlocked || Below(8) == 0) continue;
      const std::uint32_t steps = 1 + Below(3);
      for (std::uint32_t step = 1; step <= steps; ++step)
        sample.path = AddStep(sample.path, step == steps, Below(threads));
      if (Below(4) == 0)
        profile_.wake_ups.push_back({.thread = sample.thread,
                                     .waker = Below(threads),
                                     .wait = sample.wait,
                                     .waits = 1 + Below(9),
                                     .spurious = Below(2)});
    }
  }

  std::uint32_t AddStep(std::uint32_t parent, bool last, std::uint32_t thread) {
    aggregate::PathNode path{
        .parent = parent,
        .kind = last ? aggregate::PathKind::kRuns : aggregate::PathKind::kWaits,
        .thread = thread + 1,
        .node = Node(std::min(thread / shape_.threads_each, shape_.processes - 1),
                     Below(shape_.stacks_each))};
    path.how = static_cast<aggregate::PathHow>(Below(5));
    path.estimated = last && Below(2) == 0;
    if (!last) path.wait = static_cast<WaitReason>(1 + Below(12));
    if (last && Below(5) == 0) {
      path.kind = aggregate::PathKind::kTimer;
      path.thread = path.node = 0;
    }
    profile_.paths.push_back(path);
    return static_cast<std::uint32_t>(profile_.paths.size() - 1);
  }

  // Stack number `stack` of a process: three common frames and two of its own.
  std::uint32_t Node(std::uint32_t p, std::uint32_t stack) {
    std::string own = "function_" + std::to_string(p) + "_" + std::to_string(stack);
    if (shape_.fresh_frames) own += "_" + std::to_string(index_);
    std::uint32_t node = Child(0, "_start");
    node = Child(node, "main_" + std::to_string(p));
    node = Child(node, "loop_" + std::to_string(stack % 4));
    node = Child(node, own);
    return Child(node, own + "_inner");
  }

  std::uint32_t Child(std::uint32_t parent, const std::string& name) {
    const auto next_frame = static_cast<std::uint32_t>(profile_.frames.size());
    const auto [frame, new_frame] = frames_.try_emplace(name, next_frame);
    if (new_frame) {
      symbolize::Frame made;
      made.name = name;
      made.full_name = name + "(int, char const*)";
      made.symbol = "_Z" + name + "iPKc";
      made.module = "/usr/lib/libservice.so";
      made.offset = std::hash<std::string>{}(name) % 1'000'000;
      made.file = "src/" + name + ".cc";
      made.line = 7;
      if (name.size() % 2 == 0) made.origin = info_;
      profile_.frames.push_back(std::move(made));
    }
    const auto next = static_cast<std::uint32_t>(profile_.nodes.size());
    const auto [node, new_node] = nodes_.try_emplace({parent, frame->second}, next);
    if (new_node) profile_.nodes.push_back({parent, frame->second});
    return node->second;
  }

  const std::uint64_t index_;
  const HostShape shape_;
  std::mt19937 random_;
  Profile profile_;
  std::map<std::string, std::uint32_t> frames_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
  symbolize::ModuleInfoRef info_ =
      std::make_shared<const symbolize::ModuleInfo>(symbolize::ModuleInfo{
          "/usr/lib/libservice.so", "abcdef", ".symtab", "", "", "", "no debug file: a, b"});
};

std::string StackText(const Profile& profile, std::uint32_t node) {
  std::string text;
  for (; node != 0; node = profile.nodes[node].parent)
    text.insert(0, profile.frames[profile.nodes[node].frame].name + ";");
  return text;
}

}  // namespace

Profile MakeWindow(std::uint64_t index, const HostShape& shape) {
  return Maker(index, shape).Make();
}

bool operator==(const ThreadTruth& a, const ThreadTruth& b) {
  return a.comm == b.comm && a.process == b.process && a.length_ns == b.length_ns &&
         std::memcmp(&a.clock, &b.clock, sizeof(a.clock)) == 0 &&
         std::equal(std::begin(a.weight_ns), std::end(a.weight_ns), std::begin(b.weight_ns));
}

Truth TruthOf(const Profile& profile) {
  Truth truth;
  const auto key = [&](std::size_t i) {
    return std::pair(profile.threads[i].key.tid, profile.threads[i].key.start_ns);
  };
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    const auto& thread = profile.threads[i];
    const auto& process = profile.processes[thread.process];
    truth[key(i)] = {thread.comm,
                     process.comm + " " + process.command_line + " " + process.executable + " " +
                         process.cgroup + " " + process.container + " " + process.unit + " " +
                         process.owner.user + " " + process.build_id +
                         (process.interpreter ? " python" : ""),
                     thread.end_ns - thread.begin_ns,
                     thread.clock,
                     {}};
  }
  for (const auto& sample : profile.samples)
    truth[key(sample.thread)].weight_ns[static_cast<int>(sample.state)] += sample.weight_ns;
  return truth;
}

Stacks StacksOf(const Profile& profile) {
  Stacks stacks;
  for (const auto& sample : profile.samples) {
    auto& stack = stacks[{profile.threads[sample.thread].key.tid, StackText(profile, sample.node),
                          sample.state, sample.wait}];
    stack.weight_ns += sample.weight_ns;
    stack.count += sample.count;
    ++stack.samples;
  }
  return stacks;
}

Paths PathsOf(const Profile& profile) {
  Paths paths;
  for (const auto& sample : profile.samples) {
    if (sample.path == 0) continue;
    std::string text;
    for (std::uint32_t at = sample.path; at != 0; at = profile.paths.at(at).parent) {
      const auto& step = profile.paths.at(at);
      std::string one = std::to_string(static_cast<int>(step.kind)) +
                        std::to_string(static_cast<int>(step.how)) +
                        std::to_string(static_cast<int>(step.wait)) + (step.estimated ? "~" : "");
      if (step.thread != 0) {
        const auto& thread = profile.path_threads.at(step.thread - 1);
        one += " " + std::to_string(thread.shown_tid) + " " + thread.comm + " " +
               std::to_string(thread.shown_pid) + " " + thread.process_comm;
      }
      text.insert(0, one + " " + StackText(profile, step.node) + "|");
    }
    auto& path = paths[{profile.threads[sample.thread].key.tid, text}];
    path.weight_ns += sample.weight_ns;
    path.count += sample.count;
  }
  return paths;
}

WakeUps WakeUpsOf(const Profile& profile) {
  WakeUps wake_ups;
  for (const auto& count : profile.wake_ups) {
    auto& sum = wake_ups[{profile.threads.at(count.thread).key.tid,
                          profile.path_threads.at(count.waker).comm +
                              std::to_string(profile.path_threads.at(count.waker).shown_tid),
                          count.wait}];
    sum.first += count.waits;
    sum.second += count.spurious;
  }
  return wake_ups;
}

namespace {

template <typename Truths>
std::string FirstDifference(const Truths& a, const Truths& b, std::uint64_t tolerance_ns) {
  if (a.size() != b.size())
    return std::to_string(a.size()) + " stacks or paths are not " + std::to_string(b.size());
  for (const auto& [key, of_a] : a) {
    const auto found = b.find(key);
    const std::string name = std::to_string(std::get<0>(key)) + " " + std::get<1>(key);
    if (found == b.end()) return name + " is missing";
    const auto& of_b = found->second;
    if (of_a.count != of_b.count) return name + ": another count";
    const auto [low, high] = std::minmax(of_a.weight_ns, of_b.weight_ns);
    if (high - low > tolerance_ns)
      return name + ": weights are " + std::to_string(high - low) + " ns apart";
  }
  return "";
}

}  // namespace

std::string DifferenceOf(const Stacks& a, const Stacks& b, std::uint64_t tolerance_ns) {
  return FirstDifference(a, b, tolerance_ns);
}

std::string DifferenceOf(const Paths& a, const Paths& b, std::uint64_t tolerance_ns) {
  return FirstDifference(a, b, tolerance_ns);
}

}  // namespace profd::store
