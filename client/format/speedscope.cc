// speedscope: a profile per thread, in ns and in order of time.
//
// The file format of https://www.speedscope.app (file-format-schema.json of the npm package
// speedscope). Samples stand one after another, each as wide as its weight, so that in a wall or
// off-CPU profile the Time Order view is a timeline; equal neighbours are one. A thread without
// samples has no profile.
#include "client/format/exporter.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

#include "client/profile/check_profile.h"
#include "client/profile/path_frames.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/text/escape.h"

namespace profd::client {
namespace {

// Frames as speedscope distinguishes them: by name and file. Its line is a function's, ours that of
// an address: it is given only where there is but one.
class FrameTable {
 public:
  FrameTable(const v1::Profile& profile, const ExportOptions& options) {
    const FrameStyle style{.signature = options.signatures, .mangled = options.mangled};
    for (const v1::Frame& frame : profile.frames())
      of_frame_.push_back(Add(FrameName(frame, style), SafeFile(frame), frame.line()));
  }

  std::uint32_t OfFrame(std::uint32_t index) const { return of_frame_[index]; }
  std::uint32_t OfPseudo(std::string_view name) { return Add(std::string(name), "", 0); }

  void Write(std::ostream& out) const {
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const Shown& frame = frames_[i];
      out << (i == 0 ? "\n" : ",\n") << "{\"name\":" << QuoteJson(frame.key->first);
      if (!frame.key->second.empty()) out << ",\"file\":" << QuoteJson(frame.key->second);
      if (frame.line != 0) out << ",\"line\":" << frame.line;
      out << '}';
    }
  }

 private:
  using Key = std::pair<std::string, std::string>;  // name, file
  struct Shown {
    const Key* key = nullptr;
    std::uint32_t line = 0;  // 0: none, or several
  };

  static std::string SafeFile(const v1::Frame& frame) {
    if (!frame.file().empty()) return SafeName(frame.file());
    return frame.module().empty() ? "" : SafeName(frame.module());
  }

  std::uint32_t Add(std::string name, std::string file, std::uint32_t line) {
    const auto next = static_cast<std::uint32_t>(frames_.size());
    const auto [known, added] = ids_.emplace(Key(std::move(name), std::move(file)), next);
    if (added)
      frames_.push_back({&known->first, line});
    else if (frames_[known->second].line != line)
      frames_[known->second].line = 0;
    return known->second;
  }

  std::map<Key, std::uint32_t> ids_;
  std::vector<Shown> frames_;
  std::vector<std::uint32_t> of_frame_;
};

constexpr std::uint32_t kNoFrame = ~0u;

// Equal ranges show the same stack.
struct Interval {
  std::uint32_t node = 0;             // of Stacks
  std::uint32_t no_stack = kNoFrame;  // stands in for the stack
  std::uint32_t waiting = kNoFrame;   // the state of a thread that does not work
  std::uint32_t way = 0;              // of Ways: what stands behind that
  std::uint64_t weight_ns = 0;
};

// On whom threads wait, as frames.
class Ways {
 public:
  // Frames, each with the node of the stack behind it; 0: none.
  using Way = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  Ways(const v1::Profile& profile, PathDetail detail, FrameTable& frames)
      : profile_(profile), detail_(detail), frames_(frames) {
    Number({});
  }

  // 0: there is nothing to show of the path.
  std::uint32_t Of(std::uint32_t thread, std::uint32_t path) {
    if (path == 0 || detail_ == PathDetail::kNone) return 0;
    const std::uint32_t process = profile_.threads(static_cast<int>(thread)).process();
    const auto [known, added] = by_path_.try_emplace({process, path}, 0);
    if (!added) return known->second;
    Way way;
    const std::uint32_t pid = profile_.processes(static_cast<int>(process)).pid();
    for (const PathFrame& frame : PathFramesOf(profile_, path, pid, detail_))
      way.emplace_back(frames_.OfPseudo(frame.name), frame.stack);
    return known->second = Number(std::move(way));
  }

  [[nodiscard]] const Way& At(std::uint32_t way) const { return *ways_[way]; }

 private:
  std::uint32_t Number(Way way) {
    const auto next = static_cast<std::uint32_t>(ways_.size());
    const auto [known, added] = numbers_.try_emplace(std::move(way), next);
    if (added) ways_.push_back(&known->first);
    return known->second;
  }

  const v1::Profile& profile_;
  const PathDetail detail_;
  FrameTable& frames_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> by_path_;
  std::map<Way, std::uint32_t> numbers_;
  std::vector<const Way*> ways_;
};

// The profile's stacks, those of equal frames made one.
class Stacks {
 public:
  Stacks(const v1::Profile& profile, const FrameTable& frames, const Ways& ways)
      : profile_(profile), frames_(frames), ways_(ways) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
    same_.reserve(static_cast<std::size_t>(profile.nodes_size()) + 1);
    same_.push_back(0);
    for (const v1::StackNode& node : profile.nodes()) {
      const auto next = static_cast<std::uint32_t>(same_.size());
      const std::pair key(same_[node.parent()], frames.OfFrame(node.frame()));
      same_.push_back(known.emplace(key, next).first->second);
    }
  }

  // The first node with this stack.
  std::uint32_t Same(std::uint32_t node) const { return same_[node]; }

  void Write(const Interval& interval, std::ostream& out) {
    path_.clear();
    for (const auto& [frame, stack] : std::views::reverse(ways_.At(interval.way))) {
      AddStack(stack);
      path_.push_back(frame);
    }
    if (interval.waiting != kNoFrame) path_.push_back(interval.waiting);
    if (interval.no_stack != kNoFrame) path_.push_back(interval.no_stack);
    AddStack(interval.node);
    const char* comma = "[";
    for (const auto& frame : std::views::reverse(path_)) out << std::exchange(comma, ",") << frame;
    out << (path_.empty() ? "[]" : "]");
  }

 private:
  // Leaf first.
  void AddStack(std::uint32_t leaf) {
    for (std::uint32_t at = leaf; at != 0;) {
      const v1::StackNode& node = profile_.nodes(static_cast<int>(at - 1));
      path_.push_back(frames_.OfFrame(node.frame()));
      at = node.parent();
    }
  }

  const v1::Profile& profile_;
  const FrameTable& frames_;
  const Ways& ways_;
  std::vector<std::uint32_t> same_;  // by node
  std::vector<std::uint32_t> path_;
};

struct ThreadProfile {
  std::string name;
  std::vector<Interval> intervals;
  std::uint64_t total_ns = 0;
  std::uint64_t on_cpu_ns = 0;
};

Interval IntervalOf(const v1::Profile& profile, int i, const Stacks& stacks, FrameTable& frames,
                    Ways& ways) {
  const v1::Samples& samples = profile.samples();
  Interval interval{.node = stacks.Same(samples.node(i)), .weight_ns = samples.weight_ns(i)};
  if (samples.node(i) == 0) interval.no_stack = frames.OfPseudo(kNoStack);
  if (samples.state(i) != v1::STATE_ON_CPU || IsSpinning(profile, i))
    interval.waiting = frames.OfPseudo(StateFrameName(profile, i));
  if (samples.state(i) == v1::STATE_BLOCKED && samples.path_size() > 0)
    interval.way = ways.Of(samples.thread(i), samples.path(i));
  return interval;
}

void AddInterval(const Interval& interval, bool on_cpu, ThreadProfile& thread) {
  if (interval.weight_ns == 0) return;
  thread.total_ns += interval.weight_ns;
  if (on_cpu) thread.on_cpu_ns += interval.weight_ns;
  if (!thread.intervals.empty()) {
    Interval& last = thread.intervals.back();
    if (last.node == interval.node && last.no_stack == interval.no_stack &&
        last.waiting == interval.waiting && last.way == interval.way) {
      last.weight_ns += interval.weight_ns;
      return;
    }
  }
  thread.intervals.push_back(interval);
}

std::string NameOf(const v1::Profile& profile, const v1::Thread& thread) {
  return ProcessName(profile.processes(static_cast<int>(thread.process()))) + " / " +
         ThreadName(thread);
}

// Only threads with samples; a profile without any has one empty thread, for speedscope wants one.
std::vector<ThreadProfile> SplitByThread(const v1::Profile& profile, const Stacks& stacks,
                                         FrameTable& frames, Ways& ways) {
  const v1::Samples& samples = profile.samples();
  std::vector<int> order(static_cast<std::size_t>(samples.weight_ns_size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return samples.time_ns(a) < samples.time_ns(b); });
  std::vector<ThreadProfile> threads(static_cast<std::size_t>(profile.threads_size()));
  for (const int i : order)
    AddInterval(IntervalOf(profile, i, stacks, frames, ways), samples.state(i) == v1::STATE_ON_CPU,
                threads[samples.thread(i)]);
  for (std::size_t i = 0; i < threads.size(); ++i)
    threads[i].name = NameOf(profile, profile.threads(static_cast<int>(i)));
  std::erase_if(threads, [](const ThreadProfile& thread) { return thread.intervals.empty(); });
  if (threads.empty()) threads.emplace_back().name = "no samples";
  return threads;
}

void WriteThread(const ThreadProfile& thread, Stacks& stacks, std::ostream& out) {
  out << "{\"type\":\"sampled\",\"name\":" << QuoteJson(thread.name)
      << ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":" << thread.total_ns
      << ",\"samples\":[";
  const char* comma = "";
  for (const Interval& interval : thread.intervals) {
    out << std::exchange(comma, ",\n");
    stacks.Write(interval, out);
  }
  out << "],\"weights\":[";
  comma = "";
  for (const Interval& interval : thread.intervals)
    out << std::exchange(comma, ",") << interval.weight_ns;
  out << "]}";
}

// The thread shown at first: the one that ran most.
std::ptrdiff_t BusiestThread(const std::vector<ThreadProfile>& threads) {
  return std::max_element(threads.begin(), threads.end(),
                          [](const ThreadProfile& a, const ThreadProfile& b) {
                            return a.on_cpu_ns < b.on_cpu_ns;
                          }) -
         threads.begin();
}

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  FrameTable frames(profile, options);
  Ways ways(profile, options.on_whom, frames);
  Stacks stacks(profile, frames, ways);
  const std::vector<ThreadProfile> threads = SplitByThread(profile, stacks, frames, ways);
  out << "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":"
      << QuoteJson(options.title.empty() ? TitleOf(profile) : SafeName(options.title))
      << ",\"exporter\":" << QuoteJson("profd " + SafeName(profile.profd_version()))
      << ",\"activeProfileIndex\":" << BusiestThread(threads) << ",\n\"shared\":{\"frames\":[";
  frames.Write(out);
  out << "\n]},\n\"profiles\":[";
  for (std::size_t i = 0; i < threads.size(); ++i) {
    out << (i == 0 ? "\n" : ",\n");
    WriteThread(threads[i], stacks, out);
  }
  out << "\n]}\n";
  return FinishStream(out);
}

}  // namespace

Exporter SpeedscopeExporter() {
  return {.name = "speedscope",
          .extensions = {".speedscope.json"},
          .about = "a timeline of each thread",
          .viewers = "speedscope",
          .write = Write};
}

}  // namespace profd::client
