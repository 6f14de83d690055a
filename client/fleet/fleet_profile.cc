#include "client/fleet/fleet_profile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "client/profile/fleet_marks.h"
#include "client/profile/share_error.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::string_view kStolen = "[stolen]";
constexpr std::string_view kRulePlace = "by the rules of each host";
constexpr double kNsPerSecond = 1e9;

using PartKey = std::pair<std::vector<std::string>, std::uint8_t>;

auto Order(const FleetRow& row) {
  return std::tie(row.keys, row.group, row.thread, row.hash, row.state, row.wait, row.path);
}

class Builder {
 public:
  Builder(const FleetQuestion& question, const FleetStacks& stacks,
          const std::vector<FleetPart>& parts, const Coverage& coverage, const FleetPaths& paths,
          bool has_paths)
      : question_(question), stacks_(stacks), coverage_(coverage), paths_(paths) {
    profile_.set_wakers(has_paths);
    for (const FleetPart& part : parts) parts_.emplace(PartKey(part.keys, part.group), &part);
    Describe();
  }

  void Add(const FleetRow& row) {
    if (row.ns == 0 && row.points == 0) return;
    const std::uint32_t thread = Thread(row);
    AddToClock(row, *profile_.mutable_threads(static_cast<int>(thread)));
    const std::uint32_t node = row.state == FleetState::kStolen
                                   ? Child(0, kStolen, "", "", v1::FRAME_PSEUDO)
                                   : Node(row.hash);
    const bool spins = row.state == FleetState::kSpinning;
    any_spins_ = any_spins_ || spins;
    // Counts have 32 bits there.
    std::uint64_t points = row.points;
    std::uint64_t ns = row.ns;
    do {
      const std::uint64_t some =
          std::min<std::uint64_t>(points, std::numeric_limits<std::uint32_t>::max());
      points -= some;
      AddSample(row, thread, node, spins, std::exchange(ns, 0), static_cast<std::uint32_t>(some));
    } while (points > 0);
    if (IsRest(row)) rest_ns_ += row.ns;
  }

  v1::Profile Take() && {
    for (v1::Thread& thread : *profile_.mutable_threads()) Finish(thread);
    if (any_spins_) {
      v1::Rule& rule = *profile_.add_rules();
      rule.set_frame_class(v1::CLASS_SPIN);
      rule.set_place(std::string(kRulePlace));
    } else {
      profile_.mutable_samples()->clear_rule();
      profile_.mutable_samples()->clear_rule_node();
    }
    Count(std::string(kRestNs),
          "ns in stacks that a limit has cut off: " + std::string(kOtherStack), rest_ns_);
    Count(std::string(kStacksMissing), "stacks that hosts have not delivered", missing_stacks_);
    Count(std::string(kPathsMissing), "paths that hosts have not delivered", missing_paths_);
    AddCoverage(coverage_, profile_);
    return std::move(profile_);
  }

 private:
  void Describe() {
    const double length = std::max(1.0, coverage_.to_s - coverage_.from_s);
    profile_.set_start_ns(0);
    profile_.set_end_ns(static_cast<std::uint64_t>(std::llround(length * kNsPerSecond)));
    profile_.set_start_unix_ns(
        static_cast<std::uint64_t>(std::llround(coverage_.from_s * kNsPerSecond)));
    profile_.set_on_cpu(true);
    profile_.set_off_cpu(true);
    profile_.set_hook(std::string(kFleetHook));
  }

  void Count(std::string name, std::string text, std::uint64_t value) {
    if (value == 0) return;
    v1::NamedCount& count = *profile_.add_counters();
    count.set_name(std::move(name));
    count.set_text(std::move(text));
    count.set_count(value);
  }

  std::uint32_t Process(const FleetRow& row) {
    const auto [place, added] = processes_.try_emplace(
        PartKey(row.keys, row.group), static_cast<std::uint32_t>(profile_.processes_size()));
    if (!added) return place->second;
    v1::Process& process = *profile_.add_processes();
    std::string name;
    bool service = false;
    auto& labels = *process.mutable_labels();
    for (std::size_t i = 0; i < row.keys.size(); ++i) {
      const FleetKeyEntry& entry = EntryOf(question_.apart[i]);
      service = service || entry.key == FleetKey::kService;
      labels[std::string(entry.label)] = row.keys[i];
      const std::string value =
          row.keys[i].empty() ? "[no " + std::string(entry.name) + "]" : row.keys[i];
      name += (name.empty() ? "" : " ") + value;
    }
    if (!service && !question_.service.empty()) {
      labels["service.name"] = question_.service;
      name = name.empty() ? question_.service : question_.service + " " + name;
    }
    process.set_comm(name.empty() ? "all services" : name);
    process.set_start_ns(place->second + 1U);
    const auto part = parts_.find(place->first);
    const std::uint64_t hosts =
        part == parts_.end() ? 1 : std::max<std::uint64_t>(1, part->second->hosts);
    process.set_group_size(static_cast<std::uint32_t>(
        std::min<std::uint64_t>(hosts, std::numeric_limits<std::uint32_t>::max())));
    if (question_.by_host_groups && part != parts_.end()) {
      labels[std::string(kHostGroupLabel)] = std::to_string(row.group);
      labels[std::string(kHostTimeLabel)] = std::to_string(static_cast<std::uint64_t>(std::llround(
          static_cast<double>(part->second->windows) * coverage_.window_s * kNsPerSecond)));
    }
    return place->second;
  }

  std::uint32_t Thread(const FleetRow& row) {
    const std::uint32_t process = Process(row);
    const auto [place, added] = threads_.try_emplace(
        std::pair(process, row.thread), static_cast<std::uint32_t>(profile_.threads_size()));
    if (!added) return place->second;
    v1::Thread& thread = *profile_.add_threads();
    thread.set_process(process);
    thread.set_comm(row.thread);
    thread.set_start_ns(place->second + 1U);
    thread.set_begin_ns(profile_.start_ns());
    thread.set_end_ns(profile_.end_ns());
    return place->second;
  }

  static void AddToClock(const FleetRow& row, v1::Thread& thread) {
    v1::ThreadClock& clock = *thread.mutable_clock();
    switch (row.state) {
      case FleetState::kRunning:
      case FleetState::kSpinning:
        clock.set_on_cpu_ns(clock.on_cpu_ns() + row.ns);
        break;
      case FleetState::kRunnable:
        clock.set_runnable_after_wakeup_ns(clock.runnable_after_wakeup_ns() + row.ns);
        break;
      case FleetState::kBlocked:
        clock.set_blocked_interruptible_ns(clock.blocked_interruptible_ns() + row.ns);
        break;
      case FleetState::kStolen:
        clock.set_stolen_exact_ns(clock.stolen_exact_ns() + row.ns);
        break;
    }
    thread.set_elapsed_ns(thread.elapsed_ns() + row.ns);
  }

  void Finish(v1::Thread& thread) const {
    const double on_average = static_cast<double>(thread.elapsed_ns()) /
                              static_cast<double>(profile_.end_ns() - profile_.start_ns());
    constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
    thread.set_group_size(
        static_cast<std::uint32_t>(std::clamp(std::round(on_average), 1.0, kMost)));
  }

  bool IsRest(const FleetRow& row) const {
    if (row.hash == kRestOfStacks) return true;
    const auto stack = stacks_.find(row.hash);
    return stack != stacks_.end() && stack->second.functions.size() == 1 &&
           stack->second.functions.front() == kOtherStack;
  }

  // The node of the leaf.
  std::uint32_t Node(std::uint64_t hash) {
    const auto [known, added] = leaves_.try_emplace(hash, 0);
    if (!added) return known->second;
    const auto stack = stacks_.find(hash);
    if (hash == kRestOfStacks && stack == stacks_.end()) {
      known->second = Child(0, kOtherStack, "", "", v1::FRAME_PSEUDO);
    } else if (stack == stacks_.end()) {
      ++missing_stacks_;
      known->second = Child(0, kMissingStack, "", "", v1::FRAME_PSEUDO);
    } else {
      const FleetStack& frames = stack->second;
      std::uint32_t node = 0;
      for (std::size_t i = frames.functions.size(); i-- > 0;)
        node =
            Child(node, frames.functions[i], frames.modules[i], frames.files[i], frames.kinds[i]);
      known->second = node;
    }
    return known->second;
  }

  // The end of the path of a row; 0: none.
  std::uint32_t Path(const FleetRow& row) {
    if (!profile_.wakers() || row.state != FleetState::kBlocked) return 0;
    if (row.path == 0 && row.points == 0) return 0;
    const auto [known, added] = path_ends_.try_emplace(row.path, 0);
    if (!added) return known->second;
    const auto path = paths_.find(row.path);
    if (path == paths_.end()) {
      if (row.path != 0) ++missing_paths_;
      known->second = Step(0, {.kind = v1::PATH_NOT_SEEN}, false);
      return known->second;
    }
    std::uint32_t at = 0;
    for (const FleetStep& step : path->second.steps)
      at = Step(at, step, path->second.estimated && &step == &path->second.steps.back());
    known->second = at;
    return at;
  }

  std::uint32_t Step(std::uint32_t parent, const FleetStep& step, bool estimated) {
    const std::uint32_t thread = step.thread.empty() ? 0 : PathThread(step) + 1;
    const std::uint32_t node = step.stack == 0 ? 0 : Node(step.stack);
    const auto [known, added] = steps_.try_emplace(
        std::tuple(parent, step.kind, step.how, step.wait, estimated, thread, node),
        static_cast<std::uint32_t>(profile_.paths_size() + 1));
    if (added) {
      v1::PathNode& made = *profile_.add_paths();
      made.set_parent(parent);
      made.set_kind(step.kind);
      made.set_how(step.how);
      made.set_wait(step.wait);
      made.set_estimated(estimated);
      made.set_thread(thread);
      made.set_node(node);
    }
    return known->second;
  }

  // Processes have no numbers here; 0 of a thread says that it is of the waiter's.
  std::uint32_t PathThread(const FleetStep& step) {
    const auto [known, added] =
        path_threads_.try_emplace(std::tuple(step.thread, step.service, step.own),
                                  static_cast<std::uint32_t>(profile_.path_threads_size()));
    if (added) {
      v1::PathThread& made = *profile_.add_path_threads();
      made.set_tid(known->second + 1);
      made.set_start_ns(known->second + 1);
      made.set_comm(step.thread);
      made.set_pid(step.own ? 0 : known->second + 1);
      made.set_process_comm(step.service.empty() ? step.thread : step.service);
    }
    return known->second;
  }

  std::uint32_t Child(std::uint32_t parent, std::string_view function, std::string_view module,
                      std::string_view file, v1::FrameKind kind) {
    const auto [frame, new_frame] = frames_.try_emplace(
        std::tuple(std::string(function), std::string(module), std::string(file), kind),
        static_cast<std::uint32_t>(profile_.frames_size()));
    if (new_frame) {
      v1::Frame& made = *profile_.add_frames();
      made.set_kind(kind);
      made.set_name(std::string(function));
      made.set_module(std::string(module));
      made.set_file(std::string(file));
    }
    const auto [node, new_node] =
        nodes_.try_emplace(static_cast<std::uint64_t>(parent) << 32 | frame->second,
                           static_cast<std::uint32_t>(profile_.nodes_size() + 1));
    if (new_node) {
      v1::StackNode& made = *profile_.add_nodes();
      made.set_parent(parent);
      made.set_frame(frame->second);
    }
    return node->second;
  }

  void AddSample(const FleetRow& row, std::uint32_t thread, std::uint32_t node, bool spins,
                 std::uint64_t ns, std::uint32_t points) {
    v1::Samples& samples = *profile_.mutable_samples();
    samples.add_time_ns(profile_.start_ns());
    samples.add_raw_weight_ns(ns);
    samples.add_weight_ns(ns);
    samples.add_thread(thread);
    samples.add_node(node);
    samples.add_state(row.state == FleetState::kRunnable  ? v1::STATE_RUNNABLE
                      : row.state == FleetState::kBlocked ? v1::STATE_BLOCKED
                                                          : v1::STATE_ON_CPU);
    samples.add_wait(row.wait);
    samples.add_count(points);
    samples.add_exact(row.state == FleetState::kStolen);
    samples.add_stack_flags(0);
    samples.add_rule(spins ? 1 : 0);
    samples.add_rule_node(spins ? node : 0);
    if (profile_.wakers()) samples.add_path(Path(row));
  }

  const FleetQuestion& question_;
  const FleetStacks& stacks_;
  const Coverage& coverage_;
  std::map<PartKey, const FleetPart*> parts_;
  v1::Profile profile_;
  std::map<PartKey, std::uint32_t> processes_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> threads_;
  std::map<std::tuple<std::string, std::string, std::string, v1::FrameKind>, std::uint32_t> frames_;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;   // by parent and frame
  std::unordered_map<std::uint64_t, std::uint32_t> leaves_;  // by hash
  const FleetPaths& paths_;
  std::map<std::tuple<std::uint32_t, v1::PathKind, v1::PathHow, v1::WaitReason, bool, std::uint32_t,
                      std::uint32_t>,
           std::uint32_t>
      steps_;
  std::map<std::tuple<std::string, std::string, bool>, std::uint32_t> path_threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> path_ends_;  // by hash
  std::uint64_t missing_stacks_ = 0;
  std::uint64_t missing_paths_ = 0;
  std::uint64_t rest_ns_ = 0;
  bool any_spins_ = false;
};

}  // namespace

v1::Profile ProfileOf(const FleetQuestion& question, std::vector<FleetRow> rows,
                      const FleetStacks& stacks, const std::vector<FleetPart>& parts,
                      const Coverage& coverage, const FleetPaths& paths) {
  std::ranges::sort(rows, [](const FleetRow& a, const FleetRow& b) { return Order(a) < Order(b); });
  const bool has_paths = std::ranges::any_of(
      rows, [](const FleetRow& row) { return row.state == FleetState::kBlocked && row.path != 0; });
  Builder builder(question, stacks, parts, coverage, paths, has_paths);
  for (const FleetRow& row : rows) builder.Add(row);
  return std::move(builder).Take();
}

void MeasureByHostTime(v1::Profile& profile) {
  std::uint64_t time_ns = 0;
  for (const v1::Process& process : profile.processes()) {
    const auto text = process.labels().find(std::string(kHostTimeLabel));
    std::uint64_t of_group = 0;
    if (text != process.labels().end())
      std::from_chars(text->second.data(), text->second.data() + text->second.size(), of_group);
    time_ns += of_group;
  }
  if (time_ns > 0) profile.set_end_ns(profile.start_ns() + time_ns);
}

}  // namespace profd::client
