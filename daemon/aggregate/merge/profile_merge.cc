#include "daemon/aggregate/merge/profile_merge.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>

#include "daemon/aggregate/stack_tree.h"
#include "daemon/aggregate/thread_groups.h"
#include "daemon/symbolize/sample/frame_table.h"

namespace profd::aggregate {
namespace {

// Texts may name a process. When there are many, all of a name become one.
void AddCounts(const std::vector<NamedCount>& part, std::vector<NamedCount>& sum) {
  constexpr std::size_t kMaxCounts = 500;
  for (const auto& count : part) {
    const bool many = sum.size() >= kMaxCounts;
    const auto known = std::find_if(sum.begin(), sum.end(), [&](const auto& other) {
      return other.name == count.name && (many || other.text == count.text);
    });
    if (known == sum.end()) {
      sum.push_back(count);
    } else {
      known->count += count.count;
    }
  }
}

void AddCount(std::vector<NamedCount>& list, const char* name, const char* text,
              std::uint64_t count) {
  if (count != 0) AddCounts({NamedCount{name, text, count}}, list);
}

// Samples with equal keys become one.
auto MergeKey(const ProfileSample& sample) {
  return std::tuple(sample.thread, sample.state, sample.wait, sample.node, sample.stack_flags,
                    sample.gil, sample.exact, sample.path);
}

void AddSample(const ProfileSample& part, ProfileSample& sum) {
  sum.time_ns = std::min(sum.time_ns, part.time_ns);
  sum.raw_weight_ns += part.raw_weight_ns;
  sum.weight_ns += part.weight_ns;
  const std::uint64_t count = std::uint64_t{sum.count} + part.count;
  sum.count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

// Takes the later description, but keeps what only the earlier one has: a window in which the
// process exits may not have been able to read it.
void Update(ProfileProcess& known, const ProfileProcess& later) {
  // The members of a group are others in each window.
  if (known.group_size != 0) return AddMember(later, known);
  const ProfileProcess before = std::exchange(known, later);
  // The merged window has what the process did under either owner.
  known.owner.sole = later.owner.sole && before.owner.sole && before.owner.uid == later.owner.uid;
  if (known.parent.empty()) known.parent = before.parent;
  if (known.command_line.empty()) known.command_line = before.command_line;
  if (known.executable.empty()) known.executable = before.executable;
  // The process has executed another program: the old build id and interpreter are not its own.
  if (known.executable != before.executable) return;
  if (known.build_id.empty()) known.build_id = before.build_id;
  if (!known.interpreter) known.interpreter = before.interpreter;
  // A window in which nothing was read of it.
  if (known.labels.empty()) known.labels = before.labels;
}

}  // namespace

ProfileMerge::ProfileMerge(const MergeLimits& limits) : limits_(limits), paths_(limits.paths) {}

void ProfileMerge::Add(const Profile& window) { Add(window, {}); }

void ProfileMerge::Add(const Profile& window, std::span<const std::uint32_t> node_of) {
  // AddHead moves end_ns to the end of this window.
  const std::uint64_t start_ns = windows_ == 0 ? window.start_ns : merged_.end_ns;
  AddHead(window);
  const auto thread_of = AddThreads(window);
  paths_.BeginWindow(window, node_of, thread_of);
  const auto cell = static_cast<std::uint32_t>(windows_ >> cell_shift_);
  for (const ProfileSample& part : window.samples) {
    // Windows can come from a damaged file, so indices are checked. kNone: the thread was left out.
    if (part.thread >= thread_of.size() || thread_of[part.thread] == kNone) continue;
    Row row{cell, part};
    row.sample.thread = thread_of[part.thread];
    row.sample.edges = 0;  // what sums of samples are wrong by is not known
    row.sample.time_ns =
        start_ns +
        std::min(std::max(part.time_ns, window.start_ns) - window.start_ns, WindowLength(window));
    if (!node_of.empty()) row.sample.node = part.node < node_of.size() ? node_of[part.node] : 0;
    row.sample.path = paths_.PathOf(part);
    rows_.push_back(row);
  }
  ++windows_;
  SumRows();
  if (rows_.size() > limits_.samples) ShrinkRows();
}

void ProfileMerge::AddHead(const Profile& window) {
  if (windows_ == 0) {
    merged_.target = window.target;
    merged_.start_ns = window.start_ns;
    merged_.end_ns = window.start_ns;
    merged_.start_unix_ns = window.start_unix_ns;
    merged_.on_cpu = false;
    merged_.off_cpu = false;
  } else {
    // CLOCK_MONOTONIC starts again at a boot; then only the realtime clock can say how long the gap
    // was. If that went back as well, the gap is unknown and is not counted.
    const bool monotonic = window.start_ns >= last_end_ns_;
    if (monotonic) {
      gap_ns_ += window.start_ns - last_end_ns_;
    } else if (window.start_unix_ns > last_end_unix_ns_) {
      gap_ns_ += window.start_unix_ns - last_end_unix_ns_;
    }
    if (merged_.on_cpu_period_ns != window.on_cpu_period_ns ||
        merged_.off_cpu_period_ns != window.off_cpu_period_ns)
      ++period_changes_;
  }
  AddPeriods(window);  // before end_ns changes
  last_end_ns_ = std::max(window.start_ns, window.end_ns);
  last_end_unix_ns_ = window.start_unix_ns + WindowLength(window);
  merged_.end_ns += WindowLength(window);
  merged_.on_cpu = merged_.on_cpu || window.on_cpu;
  merged_.off_cpu = merged_.off_cpu || window.off_cpu;
  merged_.on_cpu_period_ns = window.on_cpu_period_ns;
  merged_.off_cpu_period_ns = window.off_cpu_period_ns;
  merged_.host = window.host;
  merged_.kernel = window.kernel;
  merged_.hook = window.hook;
  merged_.profd_version = window.profd_version;
  merged_.cost.daemon_cpu_ns += window.cost.daemon_cpu_ns;
  merged_.cost.bpf_ns += window.cost.bpf_ns;
  AddCounts(window.lost, merged_.lost);
  AddCounts(window.dropped, merged_.dropped);
  AddCounts(window.counters, merged_.counters);
}

// `merged_.end_ns` is the begin of this window in the result.
void ProfileMerge::AddPeriods(const Profile& window) {
  constexpr std::size_t kMaxPeriods = 10'000;
  auto& periods = merged_.periods;
  const auto add = [&](std::uint64_t time_ns, std::uint64_t on_cpu_ns, std::uint64_t off_cpu_ns) {
    if (!periods.empty() && periods.back().on_cpu_period_ns == on_cpu_ns &&
        periods.back().off_cpu_period_ns == off_cpu_ns)
      return;
    if (periods.size() < kMaxPeriods) periods.push_back({time_ns, on_cpu_ns, off_cpu_ns});
  };
  // The requested periods of this window end what an earlier one has listed, unless the window
  // lists other ones for the same instant.
  const bool raised_from_start =
      !window.periods.empty() && window.periods.front().time_ns <= window.start_ns;
  if (!periods.empty() && !raised_from_start)
    add(merged_.end_ns, window.on_cpu_period_ns, window.off_cpu_period_ns);
  for (const PeriodChange& change : window.periods) {
    const std::uint64_t offset = std::max(change.time_ns, window.start_ns) - window.start_ns;
    add(merged_.end_ns + std::min(offset, WindowLength(window)), change.on_cpu_period_ns,
        change.off_cpu_period_ns);
  }
}

// Returns the index in the result of each process of the window; kNone: it was left out.
std::vector<std::uint32_t> ProfileMerge::AddProcesses(const Profile& window) {
  std::vector<std::uint32_t> process_of;
  process_of.reserve(window.processes.size());
  for (const ProfileProcess& process : window.processes) {
    if (const auto known = process_of_.find(process.key); known != process_of_.end()) {
      Update(merged_.processes[known->second], process);
      process_of.push_back(known->second);
      continue;
    }
    if (merged_.processes.size() >= limits_.processes) {
      ++processes_left_out_;
      process_of.push_back(kNone);
      continue;
    }
    process_of.push_back(static_cast<std::uint32_t>(merged_.processes.size()));
    process_of_.emplace(process.key, process_of.back());
    merged_.processes.push_back(process);
  }
  return process_of;
}

// Returns the index in the result of each thread of the window; kNone: it was left out.
std::vector<std::uint32_t> ProfileMerge::AddThreads(const Profile& window) {
  const std::uint64_t start_ns = merged_.end_ns - WindowLength(window);
  const auto process_of = AddProcesses(window);
  std::vector<std::uint32_t> thread_of;
  thread_of.reserve(window.threads.size());
  for (const ProfileThread& part : window.threads) {
    ProfileThread shifted = part;
    shifted.edge_factors = {};
    const auto shift = [&](std::uint64_t time_ns) {
      return start_ns +
             std::min(std::max(time_ns, window.start_ns) - window.start_ns, WindowLength(window));
    };
    shifted.begin_ns = shift(part.begin_ns);
    shifted.end_ns = shift(part.end_ns);
    const auto process = part.process < process_of.size() ? process_of[part.process] : kNone;
    thread_of.push_back(AddThread(shifted, process));
  }
  return thread_of;
}

std::uint32_t ProfileMerge::AddThread(const ProfileThread& part, std::uint32_t process) {
  const auto known = thread_of_.find(part.key);
  if (process == kNone ||
      (known == thread_of_.end() && merged_.threads.size() >= limits_.threads)) {
    ++threads_left_out_;
    left_out_ns_ += ClockTotal(part.clock);
    return kNone;
  }
  if (known == thread_of_.end()) {
    const auto index = static_cast<std::uint32_t>(merged_.threads.size());
    thread_of_.emplace(part.key, index);
    merged_.threads.push_back(part);
    merged_.threads.back().process = process;
    return index;
  }
  ProfileThread& sum = merged_.threads[known->second];
  if (sum.group_size != 0) {
    AddMember(part, sum);
    return known->second;
  }
  sum.begin_ns = std::min(sum.begin_ns, part.begin_ns);
  sum.end_ns = std::max(sum.end_ns, part.end_ns);
  AddClock(part.clock, sum.clock);
  sum.process = process;
  sum.shown_tid = part.shown_tid;
  if (!part.comm.empty()) sum.comm = part.comm;
  sum.exited = part.exited;
  // A sum over windows of which one has no clock would look exact, and is too small.
  sum.clock_missing = sum.clock_missing || part.clock_missing;
  return known->second;
}

void ProfileMerge::SumRows() {
  const auto order = [](const Row& a, const Row& b) {
    return std::tuple(a.cell, MergeKey(a.sample)) < std::tuple(b.cell, MergeKey(b.sample));
  };
  // Sorting only the new rows keeps the cost of a window independent of all earlier ones. In a
  // larger cell, new rows can equal old ones; ShrinkRows sums those later, with summed_rows_ = 0.
  const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(summed_rows_);
  std::sort(first, rows_.end(), order);
  auto last = first;
  for (auto row = first; row != rows_.end(); ++row) {
    if (row == first) continue;
    if (order(*last, *row)) {
      *++last = *row;
    } else {
      AddSample(row->sample, last->sample);
    }
  }
  if (first != rows_.end()) rows_.erase(last + 1, rows_.end());
  summed_rows_ = rows_.size();
}

void ProfileMerge::ShrinkRows() {
  const auto sum_all = [this] {
    summed_rows_ = 0;
    SumRows();
  };
  sum_all();
  // It stops at three quarters of the limit. At the limit itself, the next window would repeat it.
  while (rows_.size() > limits_.samples - limits_.samples / 4 &&
         (windows_ - 1) >> cell_shift_ != 0) {
    ++cell_shift_;
    for (Row& row : rows_) row.cell >>= 1;
    sum_all();
  }
  if (rows_.size() > limits_.samples) CutRows();
}

void ProfileMerge::CutRows() {
  // The heaviest half of the limit keeps its stacks: those are what a reader looks for. The others
  // become one row for each thread, state and wait reason.
  auto by_weight = rows_;
  const auto kept = by_weight.begin() + static_cast<std::ptrdiff_t>(limits_.samples / 2);
  std::nth_element(by_weight.begin(), kept, by_weight.end(), [](const Row& a, const Row& b) {
    return a.sample.weight_ns > b.sample.weight_ns;
  });
  const std::uint64_t least_ns = kept->sample.weight_ns;
  for (Row& row : rows_) {
    if (row.sample.weight_ns > least_ns || (row.sample.node == 0 && row.sample.path == 0)) continue;
    row.sample.node = 0;
    row.sample.path = 0;
    row.sample.stack_flags = 0;
    ++stacks_left_out_;
  }
  summed_rows_ = 0;
  SumRows();
}

Profile ProfileMerge::FinishWithoutStacks() {
  // Rows that Add put into large cells after the last ShrinkRows are not summed with each other
  // yet.
  if (cell_shift_ != 0) ShrinkRows();
  merged_.samples.reserve(rows_.size());
  for (const Row& row : rows_) merged_.samples.push_back(row.sample);
  rows_ = {};
  std::sort(merged_.samples.begin(), merged_.samples.end(),
            [](const ProfileSample& a, const ProfileSample& b) {
              return std::tuple(a.time_ns, MergeKey(a)) < std::tuple(b.time_ns, MergeKey(b));
            });
  PathMerge::Parts parts = paths_.Finish(merged_.samples);
  merged_.wakers = parts.wakers;
  merged_.paths = std::move(parts.paths);
  merged_.path_threads = std::move(parts.threads);
  merged_.wake_ups = std::move(parts.wake_ups);
  AddCount(merged_.counters, "without_wakers_ms", "ms in windows in which no wake-up was captured",
           parts.without_wakers_ns / 1'000'000);
  AddCount(merged_.dropped, "merge_paths", "paths cut: too many for one profile", parts.cut);
  AddCount(merged_.dropped, "merge_wake_ups", "wake-ups not counted: too many for one profile",
           parts.wake_ups_dropped);
  AddCount(merged_.counters, "window_gaps_ms", "ms between windows, covered by none",
           gap_ns_ / 1'000'000);
  AddCount(merged_.counters, "period_changes", "windows with other periods than the one before",
           period_changes_);
  if (cell_shift_ != 0)
    AddCount(merged_.counters, "windows_summed", "windows in each group whose samples were summed",
             std::uint64_t{1} << cell_shift_);
  AddCount(merged_.dropped, "merge_processes", "processes left out: too many for one profile",
           processes_left_out_);
  AddCount(merged_.dropped, "merge_threads", "threads left out: too many for one profile",
           threads_left_out_);
  AddCount(merged_.dropped, "merge_threads_ms", "ms in threads that were left out",
           left_out_ns_ / 1'000'000);
  AddCount(merged_.dropped, "merge_stacks", "light stacks left out: too many for one profile",
           stacks_left_out_);
  return std::move(merged_);
}

Profile ProfileMerge::Finish(const NodeLookup& node_at, const FrameLookup& frame_at) {
  Profile profile = FinishWithoutStacks();
  AddStacks(profile, node_at, frame_at);
  return profile;
}

void ProfileMerge::AddStacks(Profile& profile, const NodeLookup& node_at,
                             const FrameLookup& frame_at) const {
  // profd never takes a stack of this depth. A longer chain comes from a damaged file, and may be a
  // circle.
  constexpr std::size_t kMaxDepth = 4096;
  std::unordered_map<std::uint32_t, std::uint32_t> new_node_of{{0, 0}};
  std::unordered_map<std::uint32_t, std::uint32_t> frame_of;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path;  // node, its frame
  std::uint64_t cut = 0;
  std::uint64_t frames_left_out = 0;
  const auto add_frame = [&](std::uint32_t frame) {
    const auto next = static_cast<std::uint32_t>(profile.frames.size());
    const auto [found, added] = frame_of.try_emplace(frame, next);
    if (!added) return found->second;
    if (profile.frames.size() < limits_.frames) {
      profile.frames.push_back(frame_at(frame));
      return next;
    }
    if (profile.frames.size() == limits_.frames) {
      symbolize::Frame other;
      other.kind = symbolize::FrameKind::kPseudo;
      other.name = "[too many distinct frames]";
      profile.frames.push_back(std::move(other));
    }
    ++frames_left_out;
    return found->second = static_cast<std::uint32_t>(limits_.frames);
  };
  profile.nodes.assign(1, StackNode{});
  const auto number_node = [&](std::uint32_t node) {
    path.clear();
    while (!new_node_of.contains(node) && path.size() < kMaxDepth) {
      const StackNode found = node_at(node);
      path.emplace_back(node, found.frame);
      node = found.parent;
    }
    const auto known = new_node_of.find(node);
    std::uint32_t at = known == new_node_of.end() ? 0 : known->second;
    // From the root to the leaf: a stack that does not fit loses its leaf side, and keeps its
    // callers.
    for (const auto& [old_node, old_frame] : std::views::reverse(path)) {
      if (profile.nodes.size() >= limits_.nodes) {
        ++cut;
        break;
      }
      const auto frame = add_frame(old_frame);
      profile.nodes.push_back(StackNode{at, frame});
      at = static_cast<std::uint32_t>(profile.nodes.size() - 1);
      new_node_of.emplace(old_node, at);
    }
    return at;
  };
  for (ProfileSample& sample : profile.samples) sample.node = number_node(sample.node);
  for (PathNode& step : profile.paths) step.node = number_node(step.node);
  AddCount(profile.dropped, "merge_stacks_cut", "stacks cut: too many for one profile", cut);
  AddCount(profile.dropped, "merge_frames", "frames without names: too many for one profile",
           frames_left_out);
}

Profile MergeProfiles(std::span<const ProfileRef> windows, const MergeLimits& limits) {
  symbolize::FrameTable frames(limits.frames);
  StackTree stacks(limits.nodes);
  ProfileMerge merge(limits);
  std::uint64_t cut = 0;
  // The common numbers of nodes and frames come from one tree and one table for all windows.
  for (const ProfileRef& window : windows) {
    std::vector<std::uint32_t> node_of(window->nodes.size(), 0);
    for (std::size_t i = 1; i < window->nodes.size(); ++i) {
      const StackNode& node = window->nodes[i];
      if (node.parent >= i || node.frame >= window->frames.size()) continue;
      const auto child =
          stacks.Child(node_of[node.parent], frames.Intern(window->frames[node.frame]));
      if (!child) ++cut;
      node_of[i] = child.value_or(node_of[node.parent]);
    }
    merge.Add(*window, node_of);
  }
  Profile merged = merge.Finish(
      [&](std::uint32_t node) {
        return StackNode{stacks.At(node).parent, stacks.At(node).frame};
      },
      [&](std::uint32_t frame) { return frames.At(frame); });
  if (cut != 0)
    merged.dropped.push_back({"merge_stacks_cut", "stacks cut: too many for one profile", cut});
  if (frames.overflowed() != 0)
    merged.dropped.push_back(
        {"merge_frames", "frames without names: too many for one profile", frames.overflowed()});
  return merged;
}

}  // namespace profd::aggregate
