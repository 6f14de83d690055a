#include "client/screens/top/top_rows.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/screens/summary/thread_rows.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

std::size_t Index(auto value) { return static_cast<std::size_t>(value); }

StateTimes TimesOf(const ThreadRow& row) {
  StateTimes times;
  times.states[v1::STATE_ON_CPU].ns = row.on_cpu_ns;
  times.states[v1::STATE_RUNNABLE].ns = row.runnable_ns;
  times.states[v1::STATE_BLOCKED].ns = row.blocked_ns;
  for (StateTime& state : times.states) state.exact_ns = state.ns;
  times.spinning = {row.spinning.ns, row.spinning.points, 0};
  for (const WaitTime& wait : row.waits) times.waits[Index(wait.reason)] += wait.ns;
  return times;
}

std::string CommandOf(const v1::Process& process) {
  return SafeText(process.command_line().empty() ? process.comm() : process.command_line());
}

struct StackTime {
  StateTimes times;
  ErrorSum error;
};

// Time of the stacks of a profile by their last node.
std::map<std::uint32_t, StackTime> TimesByNode(const v1::Profile& profile) {
  std::map<std::uint32_t, StackTime> times;
  const ShareError error(profile);
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    if (samples.node(i) == 0) continue;
    StackTime& stack = times[samples.node(i)];
    error.Add(i, stack.error);
    StateTimes& of = stack.times;
    StateTime time{samples.weight_ns(i), samples.count(i), 0};
    if (samples.exact(i)) time.exact_ns = time.ns;
    of.states[Index(samples.state(i))] += time;
    if (IsSpinning(profile, i)) of.spinning += time;
    if (samples.state(i) != v1::STATE_BLOCKED) continue;
    const bool known = v1::WaitReason_IsValid(samples.wait(i));
    of.waits[known ? Index(samples.wait(i)) : Index(v1::WAIT_OTHER)] += time.ns;
  }
  return times;
}

class FunctionTable {
 public:
  FunctionTable(const v1::Profile& profile, bool kernel) : profile_(profile), kernel_(kernel) {
    by_frame_.resize(Index(profile.frames_size()), kNone);
  }

  void Add(std::uint32_t leaf, const StackTime& stack) {
    const bool skip_kernel = !kernel_ && HasUser(leaf);
    ++stack_;
    bool last = true;
    for (std::uint32_t node = leaf; node != 0; node = Node(node).parent()) {
      const v1::Frame& frame = profile_.frames(static_cast<int>(Node(node).frame()));
      if (frame.kind() == v1::FRAME_PSEUDO) continue;
      if (skip_kernel && frame.kind() == v1::FRAME_KERNEL) continue;
      const std::size_t row = RowOf(Node(node).frame());
      if (last) {
        rows_[row].self += stack.times;
        rows_[row].self_error += stack.error;
      }
      last = false;
      if (std::exchange(seen_[row], stack_) == stack_) continue;  // a recursion
      rows_[row].total += stack.times;
      rows_[row].total_error += stack.error;
    }
  }

  std::vector<TopRow> Take() && { return std::move(rows_); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  const v1::StackNode& Node(std::uint32_t node) const {
    return profile_.nodes(static_cast<int>(node) - 1);
  }

  bool HasUser(std::uint32_t leaf) const {
    for (std::uint32_t node = leaf; node != 0; node = Node(node).parent()) {
      const v1::FrameKind kind = profile_.frames(static_cast<int>(Node(node).frame())).kind();
      if (kind != v1::FRAME_KERNEL && kind != v1::FRAME_PSEUDO) return true;
    }
    return false;
  }

  std::size_t RowOf(std::uint32_t frame) {
    std::size_t& row = by_frame_[frame];
    if (row != kNone) return row;
    const v1::Frame& of = profile_.frames(static_cast<int>(frame));
    const std::string name = FrameName(of, {.line = false, .inlined = false});
    row = by_name_.emplace(name, rows_.size()).first->second;
    if (row < rows_.size()) return row;
    TopRow made;
    made.name = SafeText(name);
    if (of.kind() != v1::FRAME_PYTHON) made.detail = SafeText(ModuleName(of));
    rows_.push_back(std::move(made));
    seen_.push_back(0);
    return row;
  }

  const v1::Profile& profile_;
  const bool kernel_;
  std::vector<TopRow> rows_;
  std::vector<std::uint64_t> seen_;  // by row: the last stack that it was in
  std::uint64_t stack_ = 0;
  std::vector<std::size_t> by_frame_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

bool Fits(const TopRow& row, const std::string& wanted) {
  for (const std::string& text : {row.name, row.detail, row.user})
    if (Lower(text).find(wanted) != std::string::npos) return true;
  return (row.pid != 0 && std::to_string(row.pid) == wanted) ||
         (row.tid != 0 && std::to_string(row.tid) == wanted);
}

std::uint64_t SortValue(const TopRow& row, const TopState& state) {
  const StateTimes& times = row.sampled() && !state.total ? row.self : row.total;
  switch (state.sort) {
    case TopSort::kRunning:
      return times.states[v1::STATE_ON_CPU].ns;
    case TopSort::kSpinning:
      return times.spinning.ns;
    case TopSort::kRunnable:
      return times.states[v1::STATE_RUNNABLE].ns;
    case TopSort::kBlocked:
      return times.states[v1::STATE_BLOCKED].ns;
    case TopSort::kSelf:
      return row.self.ns();
    case TopSort::kTotal:
      return row.total.ns();
    case TopSort::kName:
      return 0;
  }
  return 0;
}

}  // namespace

void StateTime::operator+=(const StateTime& other) {
  ns += other.ns;
  points += other.points;
  exact_ns += other.exact_ns;
}

void StateTime::operator-=(const StateTime& part) {
  ns -= part.ns;
  points -= part.points;
  exact_ns -= part.exact_ns;
}

void StateTimes::operator+=(const StateTimes& other) {
  for (std::size_t i = 0; i < states.size(); ++i) states[i] += other.states[i];
  spinning += other.spinning;
  for (std::size_t i = 0; i < waits.size(); ++i) waits[i] += other.waits[i];
}

std::uint64_t StateTimes::ns() const {
  std::uint64_t sum = 0;
  for (const StateTime& state : states) sum += state.ns;
  return sum;
}

v1::WaitReason StateTimes::main_wait() const {
  const auto most = std::ranges::max_element(waits);
  return *most == 0 ? v1::WAIT_NONE : static_cast<v1::WaitReason>(most - waits.begin());
}

std::string TopRow::main_waker() const {
  const auto most =
      std::ranges::max_element(wakers, {}, [](const auto& waker) { return waker.second; });
  return most == wakers.end() ? "" : most->first;
}

std::vector<TopRow> TopThreads(const v1::Profile& profile) {
  std::vector<TopRow> rows;
  const std::vector<WakerTimes> wakers = WakersOfThreads(profile);
  for (const ThreadRow& thread : EachThread(profile)) {
    const v1::Process& process = profile.processes(static_cast<int>(thread.process));
    TopRow row;
    row.name = thread.count > 1 ? thread.name + " x " + std::to_string(thread.count) : thread.name;
    row.detail = CommandOf(process);
    row.user = SafeText(UserName(process));
    row.pid = process.pid();
    row.tid = thread.tid.value_or(0);
    row.threads = thread.count;
    row.elapsed_ns = thread.elapsed_ns;
    row.total = TimesOf(thread);
    row.stolen = thread.stolen;
    row.wakers = wakers[thread.threads.front()];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<TopRow> TopProcesses(const v1::Profile& profile) {
  std::map<std::uint32_t, TopRow> rows;
  const std::vector<WakerTimes> wakers = WakersOfThreads(profile);
  for (const ThreadRow& thread : EachThread(profile)) {
    const v1::Process& process = profile.processes(static_cast<int>(thread.process));
    TopRow& row = rows[thread.process];
    row.name = SafeText(process.group_size() != 0 ? ProcessName(process) : process.comm());
    row.detail = CommandOf(process);
    row.user = SafeText(UserName(process));
    row.pid = process.pid();
    row.threads += thread.count;
    row.elapsed_ns += thread.elapsed_ns;
    row.total += TimesOf(thread);
    row.stolen += thread.stolen;
    for (const auto& [waker, ns] : wakers[thread.threads.front()]) row.wakers[waker] += ns;
  }
  std::vector<TopRow> list;
  list.reserve(rows.size());
  for (auto& [process, row] : rows) list.push_back(std::move(row));
  return list;
}

std::vector<TopRow> TopFunctions(const v1::Profile& profile, bool kernel) {
  FunctionTable table(profile, kernel);
  for (const auto& [node, stack] : TimesByNode(profile)) table.Add(node, stack);
  return std::move(table).Take();
}

std::vector<TopRow> TopRowsOf(const v1::Profile& profile, const TopState& state) {
  std::vector<TopRow> rows = state.view == TopView::kFunctions ? TopFunctions(profile, state.kernel)
                             : state.view == TopView::kThreads ? TopThreads(profile)
                                                               : TopProcesses(profile);
  const std::string wanted = Lower(state.filter);
  if (!wanted.empty()) std::erase_if(rows, [&](const TopRow& row) { return !Fits(row, wanted); });
  std::ranges::sort(rows, [&](const TopRow& a, const TopRow& b) {
    const auto place = [&](const TopRow& value, const TopRow& rest) {
      return std::tuple(SortValue(value, state), value.sampled() ? value.total.ns() : 0,
                        std::string_view(rest.name), rest.pid, rest.tid);
    };
    return place(b, a) < place(a, b);
  });
  return rows;
}

}  // namespace profd::client
