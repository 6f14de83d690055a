#include "client/profile/steps/named_calls.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

// Adds up the calls of one thread after the other.
class Sums {
 public:
  explicit Sums(const v1::Profile& profile) : profile_(profile) {}

  void Add(const std::vector<NamedCall>& calls) {
    std::vector<Open> open;  // that hold the call, outermost first
    for (const NamedCall& call : calls) {
      while (!open.empty() && open.back().call.end_ns <= call.begin_ns) Close(open);
      NamedCalls& sum = sums_[{call.source, call.name}];
      ++sum.calls;
      if (call.end_ns == 0) continue;
      ++sum.ended;
      sum.longest_ns = std::max(sum.longest_ns, call.end_ns - call.begin_ns);
      lengths_ns_[{call.source, call.name}] += call.end_ns - call.begin_ns;
      open.push_back({call, 0});
    }
    while (!open.empty()) Close(open);
  }

  [[nodiscard]] std::vector<NamedCalls> Take() {
    std::vector<NamedCalls> all;
    for (auto& [key, sum] : sums_) {
      const v1::StepSource& source = profile_.step_sources(static_cast<int>(key.first));
      sum.name = SafeName(source.names() ? profile_.step_names(static_cast<int>(key.second))
                                         : source.text());
      if (sum.ended != 0) sum.mean_ns = lengths_ns_[key] / sum.ended;
      all.push_back(std::move(sum));
    }
    std::ranges::stable_sort(all, std::greater<>{}, [](const NamedCalls& sum) {
      return std::tuple(sum.self_ns, sum.calls);
    });
    return all;
  }

 private:
  struct Open {
    NamedCall call;
    std::uint64_t inside_ns = 0;  // of named calls right inside of it
  };

  void Close(std::vector<Open>& open) {
    const Open closed = open.back();
    open.pop_back();
    const std::uint64_t length_ns = closed.call.end_ns - closed.call.begin_ns;
    NamedCalls& sum = sums_[{closed.call.source, closed.call.name}];
    sum.self_ns += length_ns - std::min(closed.inside_ns, length_ns);
    // One that ends by its object may outlast what it began in.
    if (!open.empty())
      open.back().inside_ns +=
          std::min(closed.call.end_ns, open.back().call.end_ns) - closed.call.begin_ns;
    const bool inside_itself = std::ranges::any_of(open, [&](const Open& outer) {
      return outer.call.source == closed.call.source && outer.call.name == closed.call.name;
    });
    if (!inside_itself) sum.total_ns += length_ns;
  }

  const v1::Profile& profile_;
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // source and name
  std::map<Key, NamedCalls> sums_;
  std::map<Key, std::uint64_t> lengths_ns_;  // each call by itself
};

}  // namespace

std::vector<NamedCall> CallsOf(const v1::Profile& profile, std::uint32_t thread) {
  const v1::StepEvents& events = profile.step_events();
  std::vector<NamedCall> calls;
  std::map<std::uint64_t, std::vector<std::size_t>> open;  // by object
  for (int i = 0; i < events.time_ns_size(); ++i) {
    if (events.thread(i) != thread) continue;
    const std::uint64_t object = events.object_size() == 0 ? 0 : events.object(i);
    auto& same_object = open[object];
    if (!events.end(i)) {
      // The end of what began with this object before has not been seen.
      if (object != 0) same_object.clear();
      if (profile.step_sources(static_cast<int>(events.source(i))).ends())
        same_object.push_back(calls.size());
      calls.push_back({events.source(i), events.name(i), events.time_ns(i), 0});
    } else if (!same_object.empty()) {
      calls[same_object.back()].end_ns = events.time_ns(i);
      same_object.pop_back();
    }
  }
  return calls;
}

std::vector<NamedCalls> NamedCallsOf(const v1::Profile& profile) {
  const v1::StepEvents& events = profile.step_events();
  Sums sums(profile);
  for (const std::uint32_t thread :
       std::set<std::uint32_t>(events.thread().begin(), events.thread().end()))
    sums.Add(CallsOf(profile, thread));
  return sums.Take();
}

}  // namespace profd::client
