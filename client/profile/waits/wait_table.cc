#include "client/profile/waits/wait_table.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "client/profile/on_whom.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

// Gathers groups and rows; rows hold indexes into groups as they were met.
class TableMaker {
 public:
  explicit TableMaker(const v1::Profile& profile) : profile_(profile) {
    for (const v1::Process& process : profile.processes()) {
      const std::string name = WithoutNumbers(process.comm());
      if (process_.empty()) process_ = name;
      if (process_ != name) of_one_program_ = false;
    }
    for (const v1::Thread& thread : profile.threads()) {
      const std::uint32_t group = GroupOf(thread);
      of_thread_.push_back(group);
      table_.groups[group].threads += MembersOf(thread);
    }
    for (const v1::PathThread& thread : profile.path_threads())
      of_path_thread_.push_back(Group(NameOf(thread), true));
  }

  WaitTable Make() && {
    AddSamples();
    AddWakeUps();
    for (auto& [key, ends] : ends_) {
      std::vector<WaitEnd>& into = table_.rows[key].ends;
      for (const auto& [end, cost] : ends) {
        into.push_back(end);
        into.back().cost = cost;
      }
      std::ranges::stable_sort(into, std::greater<>{}, [](const WaitEnd& e) { return e.cost.ns; });
    }
    std::ranges::stable_sort(table_.rows, [&](const WaitRow& a, const WaitRow& b) {
      const auto place = [&](const WaitRow& row, const WaitRow& rest) {
        return std::tuple(known_ns_[row.waiter], table_.groups[row.waiter].blocked_ns, rest.waiter,
                          row.cost.ns, row.waits);
      };
      return place(a, b) > place(b, a);
    });
    return std::move(table_);
  }

 private:
  // Ends of rows, without their cost.
  struct ByPlace {
    bool operator()(const WaitEnd& a, const WaitEnd& b) const {
      return std::tuple(a.group, a.thread, a.kind) < std::tuple(b.group, b.thread, b.kind);
    }
  };

  // Where all processes have one name, those of their threads say enough.
  std::string NameOf(const v1::PathThread& thread) const {
    const bool own = of_one_program_ && WithoutNumbers(thread.process_comm()) == process_;
    return PathThreadName(thread, own ? thread.pid() : 0);
  }

  std::uint32_t Group(const std::string& name, bool is_thread) {
    const auto next = static_cast<std::uint32_t>(table_.groups.size());
    const auto [known, is_new] = by_name_.try_emplace({name, is_thread}, next);
    if (is_new) table_.groups.push_back({.name = name, .is_thread = is_thread});
    return known->second;
  }

  std::uint32_t GroupOf(const v1::Thread& thread) {
    const v1::Process& process = profile_.processes(static_cast<int>(thread.process()));
    v1::PathThread as_on_paths;
    as_on_paths.set_comm(thread.comm());
    as_on_paths.set_pid(process.pid());
    as_on_paths.set_process_comm(process.comm());
    return Group(NameOf(as_on_paths), true);
  }

  std::uint32_t GroupOf(const v1::PathNode& step) {
    if (step.thread() != 0) return of_path_thread_[step.thread() - 1];
    return Group("[" + std::string(EndName(step.kind())) + "]", false);
  }

  std::size_t RowOf(std::uint32_t waiter, v1::WaitReason wait, std::uint32_t waker) {
    const auto [known, is_new] = by_key_.try_emplace({waiter, wait, waker}, table_.rows.size());
    if (is_new) table_.rows.push_back({.waiter = waiter, .wait = wait, .waker = waker});
    return known->second;
  }

  void AddSamples() {
    const v1::Samples& samples = profile_.samples();
    const v1::PathNode not_sampled;
    for (int i = 0; i < samples.weight_ns_size(); ++i) {
      if (samples.state(i) != v1::STATE_BLOCKED || samples.weight_ns(i) == 0) continue;
      WaitCost cost{samples.weight_ns(i), samples.count(i), 0};
      if (samples.exact(i)) cost.exact_ns = cost.ns;
      const std::uint32_t path = samples.path_size() == 0 ? 0 : samples.path(i);
      const auto steps = StepsOf(profile_, path);
      const v1::PathNode& first = steps.empty() ? not_sampled : *steps.front();
      const v1::PathNode& last = steps.empty() ? not_sampled : *steps.back();
      const std::uint32_t waiter = of_thread_[samples.thread(i)];
      const std::size_t row = RowOf(waiter, samples.wait(i), GroupOf(first));
      table_.rows[row].cost += cost;
      ends_[row][EndOf(steps, last, table_.rows[row].waker)] += cost;
      table_.groups[waiter].blocked_ns += cost.ns;
      if (first.thread() != 0 || !IsUnknown(first.kind())) known_ns_[waiter] += cost.ns;
      table_.blocked_ns += cost.ns;
    }
  }

  WaitEnd EndOf(const std::vector<const v1::PathNode*>& steps, const v1::PathNode& last,
                std::uint32_t waker) {
    WaitEnd end{.group = GroupOf(last), .thread = waker, .kind = last.kind(), .cost = {}};
    for (const v1::PathNode* step : steps)
      if (step->thread() != 0) end.thread = GroupOf(*step);
    // What is not known behind a thread is not known of it.
    if (steps.size() > 1 && IsUnknown(last.kind())) end.group = end.thread;
    return end;
  }

  void AddWakeUps() {
    for (const v1::WakeUps& wake_ups : profile_.wake_ups()) {
      const std::size_t row =
          RowOf(of_thread_[wake_ups.thread()], wake_ups.wait(), of_path_thread_[wake_ups.waker()]);
      table_.rows[row].waits += wake_ups.waits();
      table_.rows[row].spurious += wake_ups.spurious();
    }
  }

  const v1::Profile& profile_;
  std::string process_;  // without numbers
  bool of_one_program_ = true;
  std::map<std::uint32_t, std::uint64_t> known_ns_;  // by waiter
  WaitTable table_;
  std::map<std::pair<std::string, bool>, std::uint32_t> by_name_;
  std::vector<std::uint32_t> of_thread_;
  std::vector<std::uint32_t> of_path_thread_;
  std::map<std::tuple<std::uint32_t, v1::WaitReason, std::uint32_t>, std::size_t> by_key_;
  std::map<std::size_t, std::map<WaitEnd, WaitCost, ByPlace>> ends_;  // by row
};

// Tarjan 1972. The edges that are drawn are few, so the recursion is not deep.
class Knots {
 public:
  explicit Knots(const std::map<std::uint32_t, std::vector<std::uint32_t>>& next) : next_(next) {
    for (const auto& [group, others] : next)
      if (!places_.contains(group)) Visit(group);
  }
  std::vector<std::vector<std::uint32_t>> Take() && { return std::move(knots_); }

 private:
  struct Place {
    std::size_t number = 0;
    bool is_open = true;
  };

  std::size_t Visit(std::uint32_t group) {
    const std::size_t number = places_.size();
    places_[group] = {number, true};
    open_.push_back(group);
    std::size_t lowest = number;
    if (const auto out = next_.find(group); out != next_.end())
      for (const std::uint32_t other : out->second) {
        const auto known = places_.find(other);
        if (known == places_.end())
          lowest = std::min(lowest, Visit(other));
        else if (known->second.is_open)
          lowest = std::min(lowest, known->second.number);
      }
    if (lowest == number) Close(group);
    return lowest;
  }

  void Close(std::uint32_t group) {
    std::vector<std::uint32_t> knot;
    do {
      knot.push_back(open_.back());
      places_[open_.back()].is_open = false;
      open_.pop_back();
    } while (knot.back() != group);
    std::ranges::sort(knot);
    if (knot.size() > 1) knots_.push_back(std::move(knot));
  }

  const std::map<std::uint32_t, std::vector<std::uint32_t>>& next_;
  std::map<std::uint32_t, Place> places_;
  std::vector<std::uint32_t> open_;
  std::vector<std::vector<std::uint32_t>> knots_;
};

}  // namespace

void WaitCost::operator+=(const WaitCost& other) {
  ns += other.ns;
  points += other.points;
  exact_ns += other.exact_ns;
}

WaitTable WaitTable::Of(const v1::Profile& profile) { return TableMaker(profile).Make(); }

WaitGraph WaitGraph::Of(const WaitTable& table) {
  struct Sum {
    std::uint64_t ns = 0;
    std::map<std::string, std::uint64_t> words;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, Sum> sums;
  const auto add = [&](const std::tuple<std::uint32_t, std::uint32_t, bool>& edge,
                       std::string_view word, std::uint64_t ns) {
    Sum& sum = sums[edge];
    sum.ns += ns;
    sum.words[std::string(word)] += ns;
  };
  for (const WaitRow& row : table.rows) {
    add({row.waiter, row.waker, false}, WaitName(row.wait), row.cost.ns);
    for (const WaitEnd& end : row.ends)
      if (end.group != row.waker)
        add({row.waiter, end.group, true}, EndName(end.kind), end.cost.ns);
  }
  WaitGraph graph;
  std::map<std::uint32_t, std::vector<std::uint32_t>> next;
  for (const auto& [key, sum] : sums) {
    const auto& [from, to, is_end] = key;
    if (static_cast<double>(sum.ns) < kLeastShare * static_cast<double>(table.blocked_ns) ||
        sum.ns == 0) {
      if (!is_end) graph.left_out_ns += sum.ns;
      continue;
    }
    std::vector<std::pair<std::uint64_t, std::string>> words;
    for (const auto& [word, ns] : sum.words)
      if (!word.empty()) words.emplace_back(ns, word);
    std::ranges::sort(words, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    WaitEdge edge{.from = from, .to = to, .is_end = is_end, .ns = sum.ns, .words = {}};
    for (auto& [ns, word] : words) edge.words.push_back(std::move(word));
    graph.edges.push_back(std::move(edge));
    if (!is_end && table.groups[to].is_thread) next[from].push_back(to);
  }
  std::ranges::stable_sort(graph.edges, std::greater<>{}, &WaitEdge::ns);
  graph.knots = Knots(next).Take();
  return graph;
}

}  // namespace profd::client
