#include "tests/support/profile_maker.h"

#include <algorithm>
#include <charconv>
#include <regex>

namespace profd::testing {
namespace {

constexpr std::uint64_t kStartNs = 5'000'000'000;
constexpr std::uint64_t kStartUnixNs = 1'793'187'112'000'000'000;  // 2026-10-28 11:31:52 UTC
constexpr std::uint64_t kPeriodNs = 10'101'010;

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Some place in the module, another for each name.
std::uint64_t OffsetOf(std::string_view name) {
  std::uint64_t hash = 0;
  for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  return 0x1000 + hash % 0x10000;
}

void SetPlace(std::string_view place, v1::Frame& frame) {
  const std::size_t colon = place.rfind(':');
  frame.set_file("/srv/app/" + std::string(place.substr(0, colon)));
  if (colon == std::string_view::npos) return;
  std::uint32_t line = 0;
  std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  frame.set_line(line);
}

void AddTo(std::uint64_t ns, const SampleSpec& spec, v1::ThreadClock& clock) {
  if (spec.state == v1::STATE_ON_CPU)
    clock.set_on_cpu_ns(clock.on_cpu_ns() + ns);
  else if (spec.state == v1::STATE_RUNNABLE)
    clock.set_runnable_after_wakeup_ns(clock.runnable_after_wakeup_ns() + ns);
  else
    clock.set_blocked_interruptible_ns(clock.blocked_interruptible_ns() + ns);
}

std::vector<v1::Frame> FramesFromTexts(const std::vector<std::string>& stack) {
  std::vector<v1::Frame> frames;
  for (const std::string& text : stack) {
    v1::Frame frame = FrameFromText(text);
    // A function is inlined at an address of its caller.
    if (frame.inlined() && !frames.empty()) frame.set_offset(frames.back().offset());
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace

v1::Frame FrameFromText(std::string_view text) {
  v1::Frame frame;
  frame.set_module("/usr/bin/demo");
  if (TakeSuffix(text, "_[k]")) {
    frame.set_kind(v1::FRAME_KERNEL);
    frame.set_module("[kernel]");
  } else if (TakeSuffix(text, "_[i]")) {
    frame.set_inlined(true);
  } else if (TakeSuffix(text, "_[j]")) {
    frame.set_kind(v1::FRAME_JIT);
    frame.set_module("");
  } else if (text.starts_with('[')) {
    frame.set_kind(v1::FRAME_PSEUDO);
    frame.set_module("");
  }
  const std::size_t place = text.find(" (");
  const std::size_t offset = text.find("+0x");
  if (text.ends_with(')') && place != std::string_view::npos) {
    frame.set_kind(v1::FRAME_PYTHON);
    frame.set_module("");
    SetPlace(text.substr(place + 2, text.size() - place - 3), frame);
    text = text.substr(0, place);
  } else if (offset != std::string_view::npos) {
    std::uint64_t value = 0;
    std::from_chars(text.data() + offset + 3, text.data() + text.size(), value, 16);
    frame.set_module("/usr/lib/" + std::string(text.substr(0, offset)));
    frame.set_offset(value);
    frame.set_reason("no symbol table");
    return frame;
  }
  frame.set_name(std::string(text));
  if (frame.kind() == v1::FRAME_NATIVE || frame.kind() == v1::FRAME_KERNEL)
    frame.set_offset(OffsetOf(text));
  return frame;
}

ProfileMaker::ProfileMaker() {
  profile_.set_target("pid 4242");
  profile_.set_start_ns(kStartNs);
  profile_.set_start_unix_ns(kStartUnixNs);
  profile_.set_on_cpu(true);
  profile_.set_off_cpu(true);
  profile_.set_on_cpu_period_ns(kPeriodNs);
  profile_.set_off_cpu_period_ns(kPeriodNs);
  profile_.set_host("testhost");
  profile_.set_kernel("6.18.44");
  profile_.set_hook("sched_exit_tp");
  profile_.set_profd_version("0.1.0");
  AddProcess(4242, "demo", "/usr/bin/demo --fast");
}

std::uint32_t ProfileMaker::AddProcess(std::uint32_t pid, const std::string& comm,
                                       const std::string& command_line) {
  v1::Process* process = profile_.add_processes();
  process->set_pid(pid);
  process->set_start_ns(1'000'000ull * pid);
  process->set_comm(comm);
  process->set_command_line(command_line);
  process->set_cgroup("/user.slice");
  return static_cast<std::uint32_t>(profile_.processes_size() - 1);
}

std::uint32_t ProfileMaker::AddThread(std::uint32_t tid, const std::string& comm,
                                      std::uint32_t process) {
  v1::Thread* thread = profile_.add_threads();
  thread->set_tid(tid);
  thread->set_start_ns(1'000'000ull * tid);
  thread->set_comm(comm);
  thread->set_process(process);
  thread->set_begin_ns(kStartNs);
  thread->set_end_ns(kStartNs);
  thread_ns_.push_back(0);
  return static_cast<std::uint32_t>(profile_.threads_size() - 1);
}

void ProfileMaker::Add(std::uint32_t thread, const std::vector<std::string>& stack,
                       const SampleSpec& spec) {
  AddFrames(thread, FramesFromTexts(stack), spec);
}

void ProfileMaker::AddFrames(std::uint32_t thread, const std::vector<v1::Frame>& stack,
                             const SampleSpec& spec) {
  const std::uint32_t node = Stack(stack);
  v1::Samples& samples = *profile_.mutable_samples();
  samples.add_time_ns(kStartNs + thread_ns_[thread]);
  samples.add_raw_weight_ns(spec.count * kPeriodNs);
  samples.add_weight_ns(spec.weight_ns);
  samples.add_thread(thread);
  samples.add_node(node);
  samples.add_state(spec.state);
  samples.add_wait(spec.wait);
  samples.add_count(spec.count);
  samples.add_exact(false);
  samples.add_stack_flags(0);
  if (spec.gil != v1::GIL_NONE)
    while (samples.gil_size() < samples.weight_ns_size() - 1) samples.add_gil(v1::GIL_NONE);
  if (spec.gil != v1::GIL_NONE || samples.gil_size() > 0) samples.add_gil(spec.gil);
  if (spec.rule != 0) {
    samples.mutable_rule()->Resize(samples.weight_ns_size() - 1, 0);
    samples.mutable_rule_node()->Resize(samples.weight_ns_size() - 1, 0);
  }
  if (spec.rule != 0 || samples.rule_size() > 0) {
    samples.add_rule(spec.rule);
    samples.add_rule_node(spec.rule == 0 ? 0 : NodeOfRule(spec.rule, node));
  }
  if (spec.path != 0) samples.mutable_path()->Resize(samples.weight_ns_size() - 1, 0);
  if (spec.path != 0 || samples.path_size() > 0) samples.add_path(spec.path);
  thread_ns_[thread] += spec.weight_ns;
  v1::Thread& owner = *profile_.mutable_threads(static_cast<int>(thread));
  owner.set_end_ns(kStartNs + thread_ns_[thread]);
  AddTo(spec.weight_ns, spec, *owner.mutable_clock());
}

std::uint32_t ProfileMaker::NodeOfRule(std::uint32_t rule, std::uint32_t leaf) const {
  const std::regex function(profile_.rules(static_cast<int>(rule) - 1).function());
  std::uint32_t node = leaf;
  while (node != 0) {
    const v1::StackNode& place = profile_.nodes(static_cast<int>(node) - 1);
    if (std::regex_match(profile_.frames(static_cast<int>(place.frame())).name(), function))
      return node;
    node = place.parent();
  }
  return leaf;
}

std::uint32_t ProfileMaker::AddRule(v1::FrameClass frame_class, const std::string& function) {
  v1::Rule& rule = *profile_.add_rules();
  rule.set_frame_class(frame_class);
  rule.set_function(function);
  const auto number = static_cast<std::uint32_t>(profile_.rules_size());
  rule.set_place("rules.toml:" + std::to_string(number));
  return number;
}

std::uint32_t ProfileMaker::AddPathThread(std::uint32_t tid, const std::string& comm,
                                          std::uint32_t pid, const std::string& process_comm) {
  v1::PathThread& thread = *profile_.add_path_threads();
  thread.set_tid(tid);
  thread.set_start_ns(1'000'000ull * tid);
  thread.set_comm(comm);
  thread.set_pid(pid);
  thread.set_process_start_ns(1'000'000ull * pid);
  thread.set_process_comm(process_comm);
  profile_.set_wakers(true);
  return static_cast<std::uint32_t>(profile_.path_threads_size());
}

std::uint32_t ProfileMaker::AddPath(const std::vector<StepSpec>& steps) {
  std::uint32_t path = 0;
  for (const StepSpec& step : steps) {
    v1::PathNode node;
    node.set_parent(path);
    node.set_kind(step.kind);
    node.set_how(step.how);
    node.set_wait(step.wait);
    node.set_estimated(step.estimated);
    node.set_thread(step.thread);
    node.set_node(Stack(FramesFromTexts(step.stack)));
    const auto next = static_cast<std::uint32_t>(profile_.paths_size()) + 1;
    const auto [known, is_new] = paths_.emplace(node.SerializeAsString(), next);
    if (is_new) *profile_.add_paths() = node;
    path = known->second;
  }
  profile_.set_wakers(true);
  return path;
}

void ProfileMaker::AddWakeUps(std::uint32_t thread, std::uint32_t waker, v1::WaitReason wait,
                              std::uint64_t waits, std::uint64_t spurious) {
  v1::WakeUps& wake_ups = *profile_.add_wake_ups();
  wake_ups.set_thread(thread);
  wake_ups.set_waker(waker - 1);
  wake_ups.set_wait(wait);
  wake_ups.set_waits(waits);
  wake_ups.set_spurious(spurious);
}

v1::Profile ProfileMaker::Make() {
  const auto longest = std::max_element(thread_ns_.begin(), thread_ns_.end());
  profile_.set_end_ns(kStartNs + (longest == thread_ns_.end() ? 0 : *longest));
  return profile_;
}

std::uint32_t ProfileMaker::Stack(const std::vector<v1::Frame>& stack) {
  std::uint32_t node = 0;
  for (const v1::Frame& frame : stack) node = Node(node, frame);
  return node;
}

std::uint32_t ProfileMaker::Node(std::uint32_t parent, const v1::Frame& frame) {
  const auto next_frame = static_cast<std::uint32_t>(profile_.frames_size());
  const auto [known_frame, new_frame] = frames_.emplace(frame.SerializeAsString(), next_frame);
  if (new_frame) *profile_.add_frames() = frame;
  const std::pair key(parent, known_frame->second);
  const auto next_node = static_cast<std::uint32_t>(profile_.nodes_size()) + 1;
  const auto [known_node, new_node] = nodes_.emplace(key, next_node);
  if (new_node) {
    v1::StackNode* node = profile_.add_nodes();
    node->set_parent(parent);
    node->set_frame(known_frame->second);
  }
  return known_node->second;
}

}  // namespace profd::testing
