#include "daemon/aggregate/moved_stacks.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "daemon/aggregate/sample_part.h"
#include "daemon/aggregate/weights/weights.h"

namespace profd::aggregate {
namespace {

using Wait = std::pair<process::State, std::int32_t>;
using Place = std::pair<Wait, std::uint64_t>;

struct Share {
  std::uint64_t weight_ns = 0;
  std::uint64_t count = 0;

  void Add(std::uint64_t more_ns, std::uint64_t more) {
    weight_ns = std::min(kMaxWeightNs, weight_ns + std::min(kMaxWeightNs, more_ns));
    count += more;
  }
};

using Indices = std::vector<std::size_t>;

Wait WaitOf(const PlacedWeight& sample) { return {sample.state, sample.syscall}; }
Place PlaceOf(const PlacedWeight& sample) { return {WaitOf(sample), sample.place}; }

class Sharing {
 public:
  explicit Sharing(std::span<PlacedWeight> whole) : whole_(whole), received_(whole.size()) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      by_place_[PlaceOf(whole[i])].push_back(i);
      by_wait_[WaitOf(whole[i])].push_back(i);
    }
  }

  void Run(std::span<const PlacedWeight> moved) {
    std::map<Place, Share> places;
    std::map<Wait, Share> waits;
    for (const PlacedWeight& sample : moved)
      places[PlaceOf(sample)].Add(sample.weight_ns, sample.count);
    for (const auto& [place, share] : places) {
      if (const auto found = by_place_.find(place); found != by_place_.end())
        Give(share, found->second);
      else
        waits[place.first].Add(share.weight_ns, share.count);
    }
    for (const auto& [wait, share] : waits)
      if (const auto found = by_wait_.find(wait); found != by_wait_.end())
        Give(share, found->second);
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      whole_[i].weight_ns += received_[i].weight_ns;
      whole_[i].count += received_[i].count;
    }
  }

 private:
  void Give(const Share& share, const Indices& to) {
    std::vector<WeightedSample> weights(to.size());
    const auto portions = [&](std::uint64_t total) {
      for (std::size_t i = 0; i < to.size(); ++i)
        weights[i] = {.raw_weight_ns = whole_[to[i]].weight_ns};
      static_cast<void>(ScaleToClock(weights, total));
    };
    portions(share.weight_ns);
    for (std::size_t i = 0; i < to.size(); ++i) received_[to[i]].weight_ns += weights[i].weight_ns;
    portions(share.count);
    for (std::size_t i = 0; i < to.size(); ++i) received_[to[i]].count += weights[i].weight_ns;
  }

  const std::span<PlacedWeight> whole_;
  std::vector<Share> received_;  // added at the end: it must not change how others are shared
  std::map<Place, Indices> by_place_;
  std::map<Wait, Indices> by_wait_;
};

}  // namespace

void ShareMoved(std::span<const PlacedWeight> moved, std::span<PlacedWeight> whole) {
  if (!moved.empty() && !whole.empty()) Sharing(whole).Run(moved);
}

}  // namespace profd::aggregate
