#include "client/format/timeline/timeline.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/report/report_time.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

__extension__ using Wide = __int128;

// An interval that is to be placed.
struct Item {
  int sample = 0;
  std::int64_t wanted_ns = 0;  // its begin, from the begin of the track on
  std::uint64_t length_ns = 0;
};

std::uint64_t SumOf(const std::vector<Item>& items) {
  std::uint64_t sum = 0;
  for (const Item& item : items) sum += item.length_ns;
  return sum;
}

// Items of equal shift: they lie side by side, or have room between them and do not push.
struct Block {
  Wide sum = 0;  // of what each item is wanted at, less the lengths of those before it
  std::int64_t items = 0;

  [[nodiscard]] Wide Mean() const {
    const Wide quotient = sum / items;
    return sum % items < 0 ? quotient - 1 : quotient;
  }
};

class Placer {
 public:
  Placer(std::uint64_t begin_ns, std::uint64_t end_ns) : begin_ns_(begin_ns), end_ns_(end_ns) {}

  // `items` in order of time; `rest` has no place of its own.
  std::vector<TimelineSlice> Place(const std::vector<Item>& items, std::vector<Item> rest) {
    const std::uint64_t items_ns = SumOf(items);
    const std::uint64_t room_ns = std::max(end_ns_ - begin_ns_, items_ns + SumOf(rest));
    const std::vector<std::uint64_t> shifts = Shifts(items, room_ns - items_ns);
    std::vector<TimelineSlice> slices;
    std::uint64_t at_ns = 0;
    std::uint64_t before_ns = 0;  // lengths of the items before
    std::reverse(rest.begin(), rest.end());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::uint64_t item_ns = before_ns + shifts[i];
      Fill(at_ns, item_ns, rest, slices);
      slices.push_back({begin_ns_ + item_ns, items[i].length_ns, items[i].sample});
      const Wide off_ns = Wide{item_ns} - items[i].wanted_ns;
      most_shift_ns_ =
          std::max(most_shift_ns_, static_cast<std::uint64_t>(off_ns < 0 ? -off_ns : off_ns));
      at_ns = item_ns + items[i].length_ns;
      before_ns += items[i].length_ns;
    }
    Fill(at_ns, room_ns, rest, slices);
    return slices;
  }

  [[nodiscard]] std::uint64_t most_shift_ns() const { return most_shift_ns_; }

 private:
  // How far each item is behind where it would be without any room: ascending, up to `room_ns`.
  // Least squares: neighbours that would push each other have the mean of what they want.
  static std::vector<std::uint64_t> Shifts(const std::vector<Item>& items, std::uint64_t room_ns) {
    std::vector<Block> blocks;
    Wide before_ns = 0;
    for (const Item& item : items) {
      blocks.push_back({item.wanted_ns - before_ns, 1});
      before_ns += item.length_ns;
      while (blocks.size() > 1 && blocks[blocks.size() - 2].Mean() >= blocks.back().Mean()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back().sum += last.sum;
        blocks.back().items += last.items;
      }
    }
    std::vector<std::uint64_t> shifts;
    shifts.reserve(items.size());
    for (const Block& block : blocks)
      shifts.insert(shifts.end(), static_cast<std::size_t>(block.items),
                    static_cast<std::uint64_t>(
                        std::clamp<Wide>(block.Mean(), 0, static_cast<Wide>(room_ns))));
    return shifts;
  }

  // From the back of `rest`.
  void Fill(std::uint64_t from_ns, std::uint64_t to_ns, std::vector<Item>& rest,
            std::vector<TimelineSlice>& slices) const {
    while (from_ns < to_ns && !rest.empty()) {
      Item& item = rest.back();
      const std::uint64_t part_ns = std::min(to_ns - from_ns, item.length_ns);
      slices.push_back({begin_ns_ + from_ns, part_ns, item.sample});
      from_ns += part_ns;
      item.length_ns -= part_ns;
      if (item.length_ns == 0) rest.pop_back();
    }
  }

  const std::uint64_t begin_ns_;
  const std::uint64_t end_ns_;
  std::uint64_t most_shift_ns_ = 0;
};

class Builder {
 public:
  explicit Builder(const v1::Profile& profile) : profile_(profile) {
    timeline_.has_times = HasSampleTimes(profile);
    timeline_.begin_ns = std::min(profile.start_ns(), kMostNs);
    timeline_.end_ns = std::clamp(profile.end_ns(), timeline_.begin_ns, kMostNs);
  }

  Timeline Run() && {
    const v1::Samples& samples = profile_.samples();
    std::vector<std::vector<int>> of_thread(static_cast<std::size_t>(profile_.threads_size()));
    for (int i = 0; i < samples.weight_ns_size(); ++i)
      if (samples.weight_ns(i) > 0) of_thread[samples.thread(i)].push_back(i);
    for (std::size_t i = 0; i < of_thread.size(); ++i) {
      if (of_thread[i].empty()) continue;
      if (timeline_.has_times)
        AddThread(static_cast<std::uint32_t>(i), of_thread[i]);
      else
        AddSums(static_cast<std::uint32_t>(i), of_thread[i]);
    }
    for (const TimelineTrack& track : timeline_.tracks) {
      timeline_.begin_ns = std::min(timeline_.begin_ns, track.slices.front().begin_ns);
      timeline_.end_ns = std::max(timeline_.end_ns, track.slices.back().end_ns());
    }
    return std::move(timeline_);
  }

 private:
  // Of an instant; the sum of all weights is less, too, so that no sum overflows.
  static constexpr std::uint64_t kMostNs = std::numeric_limits<std::int64_t>::max() / 2;

  void AddThread(std::uint32_t thread, const std::vector<int>& of_thread) {
    const v1::Thread& one = profile_.threads(static_cast<int>(thread));
    const std::uint64_t begin_ns = std::min(one.begin_ns(), kMostNs);
    const std::uint64_t end_ns = std::clamp(one.end_ns(), begin_ns, kMostNs);
    const v1::Samples& samples = profile_.samples();
    std::vector<Item> items;
    std::vector<Item> rest;
    for (const int i : of_thread) {
      Item item{i, 0, samples.weight_ns(i)};
      const std::uint64_t time_ns = std::min(samples.time_ns(i), kMostNs);
      item.wanted_ns = static_cast<std::int64_t>(time_ns) - static_cast<std::int64_t>(begin_ns);
      if (samples.state(i) == v1::STATE_ON_CPU)
        item.wanted_ns -= static_cast<std::int64_t>(item.length_ns / 2);
      const bool is_sampled = samples.count(i) != 0 || samples.exact(i);
      (is_sampled ? items : rest).push_back(item);
    }
    std::ranges::stable_sort(items, {},
                             [&](const Item& item) { return samples.time_ns(item.sample); });
    std::vector<std::vector<Item>> lanes = LanesOf(one, items, end_ns - begin_ns);
    const auto first = timeline_.tracks.size();
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      Placer placer(begin_ns, end_ns);
      const bool is_last = lane + 1 == lanes.size();
      auto slices =
          placer.Place(lanes[lane], is_last ? std::exchange(rest, {}) : std::vector<Item>());
      timeline_.most_shift_ns = std::max(timeline_.most_shift_ns, placer.most_shift_ns());
      if (slices.empty()) continue;
      timeline_.tracks.push_back({thread,
                                  static_cast<std::uint32_t>(timeline_.tracks.size() - first), 0,
                                  std::move(slices)});
    }
    for (std::size_t i = first; i < timeline_.tracks.size(); ++i)
      timeline_.tracks[i].lanes = static_cast<std::uint32_t>(timeline_.tracks.size() - first);
  }

  // A group has as many as its time needs, filled evenly.
  static std::vector<std::vector<Item>> LanesOf(const v1::Thread& thread,
                                                const std::vector<Item>& items,
                                                std::uint64_t life_ns) {
    const std::uint64_t needed = SumOf(items) / std::max<std::uint64_t>(life_ns, 1) + 1;
    const std::uint64_t most = std::max<std::uint64_t>(thread.group_size(), 1);
    const auto count = static_cast<std::size_t>(std::min({needed, most, items.size() + 1}));
    std::vector<std::vector<Item>> lanes(count);
    using End = std::pair<Wide, std::size_t>;  // and its lane
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    for (std::size_t i = 0; i < count; ++i) ends.emplace(0, i);
    for (const Item& item : items) {
      const auto [end_ns, lane] = ends.top();
      ends.pop();
      lanes[lane].push_back(item);
      ends.emplace(std::max<Wide>(end_ns, item.wanted_ns) + item.length_ns, lane);
    }
    return lanes;
  }

  void AddSums(std::uint32_t thread, std::vector<int> of_thread) {
    const v1::Samples& samples = profile_.samples();
    std::ranges::sort(of_thread, {}, [&](int i) {
      return std::tuple(PartOf(profile_, i), samples.wait(i), ~samples.weight_ns(i), i);
    });
    TimelineTrack track{.thread = thread, .slices = {}};
    std::uint64_t at_ns = timeline_.begin_ns;
    for (const int i : of_thread) {
      track.slices.push_back({at_ns, samples.weight_ns(i), i});
      at_ns += samples.weight_ns(i);
    }
    timeline_.tracks.push_back(std::move(track));
  }

  const v1::Profile& profile_;
  Timeline timeline_;
};

}  // namespace

std::string Timeline::TimesText() const {
  if (!has_times)
    return "times of samples are not known: what a thread did stands by state, the longest first";
  return "lengths are exact sums, places are sampled: slices are up to " +
         FormatDuration(most_shift_ns) + " from where their samples were";
}

Timeline Timeline::Of(const v1::Profile& profile) { return Builder(profile).Run(); }

}  // namespace profd::client
