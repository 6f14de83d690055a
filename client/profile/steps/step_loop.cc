#include "client/profile/steps/step_loop.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "client/profile/operators/operators.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::size_t kLeastFalls = 10;
// Of the time of the function that is there longest: an outer one that is there for less is not the
// loop around it, but what came before, such as imports.
constexpr double kLeastOfLongest = 0.5;
constexpr std::size_t kMaxFunctions = 4'096;  // of one thread

// Numbers of Python functions, by name and file.
class Functions {
 public:
  explicit Functions(const v1::Profile& profile) {
    std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> known;
    for (const v1::Frame& frame : profile.frames()) {
      std::uint32_t number = kNone;
      // What is made for an expression, "<listcomp>", repeats within a line.
      const bool made = frame.name().starts_with('<') && frame.name() != "<module>";
      if (frame.kind() == v1::FRAME_PYTHON && frame.line() != 0 && !made) {
        const auto next = static_cast<std::uint32_t>(known.size());
        number = known.try_emplace({frame.name(), frame.file()}, next).first->second;
      }
      of_frame_.push_back(number);
    }
    count_ = known.size();
  }
  [[nodiscard]] std::uint32_t Of(std::uint32_t frame) const { return of_frame_[frame]; }
  [[nodiscard]] std::size_t count() const { return count_; }

  static constexpr std::uint32_t kNone = UINT32_MAX;

 private:
  std::vector<std::uint32_t> of_frame_;
  std::size_t count_ = 0;
};

// Where a function is that is on a stack.
struct Place {
  std::uint32_t function = 0;
  std::uint32_t frame = 0;
};

// The functions of each stack, outermost first, each once: where its outermost frame is.
class Places {
 public:
  explicit Places(const v1::Profile& profile)
      : functions_(profile), by_node_(static_cast<std::size_t>(profile.nodes_size()) + 1) {
    // Side by side: one step further in a stack is mostly no miss of the cache.
    nodes_.resize(1);
    for (const v1::StackNode& node : profile.nodes())
      nodes_.push_back({node.parent(), {functions_.Of(node.frame()), node.frame()}});
  }

  [[nodiscard]] std::size_t functions() const { return functions_.count(); }

  const std::vector<Place>& Of(std::uint32_t node) {
    std::optional<std::vector<Place>>& kept = by_node_[node];
    if (kept) return *kept;
    kept.emplace();
    std::vector<Place> places;
    for (std::uint32_t at = node; at != 0; at = nodes_[at].parent)
      if (nodes_[at].place.function != Functions::kNone) places.push_back(nodes_[at].place);
    std::ranges::reverse(places);
    for (const Place& place : places)
      if (std::ranges::find(*kept, place.function, &Place::function) == kept->end())
        kept->push_back(place);
    return *kept;
  }

 private:
  struct Node {
    std::uint32_t parent = 0;
    Place place;
  };

  const Functions functions_;
  std::vector<Node> nodes_;  // the first one is the root
  std::vector<std::optional<std::vector<Place>>> by_node_;
};

// A function as it goes on in the samples of one thread.
struct Course {
  std::uint32_t function = 0;
  std::uint32_t frame = 0;  // one of its frames
  std::size_t depth = 0;    // the least, of Python functions
  std::uint32_t line = 0;   // at its last sample
  std::uint64_t last_ns = 0;
  std::uint64_t time_ns = 0;  // with it on the stack
  std::vector<StepBorder> falls;
};

class Search {
 public:
  explicit Search(const v1::Profile& profile)
      : profile_(profile), places_(profile), number_of_(places_.functions(), Functions::kNone) {
    const v1::Samples& samples = profile.samples();
    of_thread_.resize(static_cast<std::size_t>(profile.threads_size()));
    for (int i = 0; i < samples.node_size(); ++i)
      if (samples.count(i) != 0 && samples.node(i) != 0) of_thread_[samples.thread(i)].push_back(i);
  }

  // `function` empty: any.
  [[nodiscard]] std::optional<StepLoop> In(std::uint32_t thread, std::string_view function) {
    if (profile_.threads(static_cast<int>(thread)).group_size() != 0) return std::nullopt;
    const auto courses = CoursesOf(thread);
    std::uint64_t longest_ns = 0;
    for (const Course& course : courses)
      if (course.falls.size() >= kLeastFalls) longest_ns = std::max(longest_ns, course.time_ns);
    const Course* found = nullptr;
    for (const Course& course : courses) {
      if (course.falls.size() < kLeastFalls) continue;
      const v1::Frame& frame = profile_.frames(static_cast<int>(course.frame));
      if (!function.empty() && !IsFunction(frame, function)) continue;
      const bool is_long =
          static_cast<double>(course.time_ns) >= kLeastOfLongest * static_cast<double>(longest_ns);
      if (function.empty() && !is_long) continue;
      if (found == nullptr || IsRather(course, *found)) found = &course;
    }
    if (found == nullptr) return std::nullopt;
    return LoopOf(thread, *found);
  }

  // The threads in which a loop is looked for, the likeliest first.
  [[nodiscard]] std::vector<std::uint32_t> Threads() const {
    const Operators operators(profile_);
    const v1::Samples& samples = profile_.samples();
    std::vector<std::tuple<bool, bool, std::size_t>> ranks(of_thread_.size());
    for (std::uint32_t thread = 0; thread < ranks.size(); ++thread) {
      const v1::Thread& one = profile_.threads(static_cast<int>(thread));
      const auto pid = profile_.processes(static_cast<int>(one.process())).pid();
      ranks[thread] = {TrainsIn(thread, operators, samples), one.tid() == pid,
                       of_thread_[thread].size()};
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t thread = 0; thread < ranks.size(); ++thread)
      if (!of_thread_[thread].empty()) order.push_back(thread);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::uint32_t thread) { return ranks[thread]; });
    return order;
  }

 private:
  // Whether one course is the loop rather than another.
  [[nodiscard]] static bool IsRather(const Course& course, const Course& than) {
    return std::tuple(course.depth, than.time_ns, course.frame) <
           std::tuple(than.depth, course.time_ns, than.frame);
  }

  // The optimizer runs in the thread of the loop, where the backward pass may run elsewhere.
  [[nodiscard]] bool TrainsIn(std::uint32_t thread, const Operators& operators,
                              const v1::Samples& samples) const {
    return std::ranges::any_of(of_thread_[thread], [&](int sample) {
      return operators.PhaseAt(samples.node(sample)) == v1::PHASE_OPTIMIZER;
    });
  }

  std::vector<Course> CoursesOf(std::uint32_t thread) {
    const v1::Samples& samples = profile_.samples();
    std::vector<Course> courses;
    for (const int sample : of_thread_[thread]) {
      const std::vector<Place>& places = places_.Of(samples.node(sample));
      for (std::size_t depth = 0; depth < places.size(); ++depth) {
        std::uint32_t& number = number_of_[places[depth].function];
        const bool is_new = number == Functions::kNone;
        if (is_new && courses.size() == kMaxFunctions) continue;
        if (is_new) {
          number = static_cast<std::uint32_t>(courses.size());
          courses.emplace_back().function = places[depth].function;
        }
        Course& course = courses[number];
        const std::uint32_t frame = places[depth].frame;
        const std::uint32_t line = profile_.frames(static_cast<int>(frame)).line();
        const std::uint64_t begin_ns = samples.time_ns(sample);
        if (is_new) {
          course.frame = frame;
          course.depth = depth;
        } else if (line < course.line) {
          const std::uint64_t gap_ns = begin_ns - std::min(begin_ns, course.last_ns);
          course.falls.push_back({begin_ns - gap_ns / 2, gap_ns - gap_ns / 2});
        }
        course.depth = std::min(course.depth, depth);
        course.line = line;
        course.last_ns = std::max(course.last_ns, LastPointNs(profile_, sample));
        course.time_ns += samples.weight_ns(sample);
      }
    }
    for (const Course& course : courses) number_of_[course.function] = Functions::kNone;
    return courses;
  }

  [[nodiscard]] StepLoop LoopOf(std::uint32_t thread, const Course& course) const {
    const v1::Frame& frame = profile_.frames(static_cast<int>(course.frame));
    StepLoop loop{.thread = thread,
                  .function = FrameName(frame, {.line = false}),
                  .name = frame.name(),
                  .file = frame.file(),
                  .borders = course.falls};
    CountSamples(profile_, loop);
    return loop;
  }

  const v1::Profile& profile_;
  Places places_;
  std::vector<std::uint32_t> number_of_;     // of a function: its course, while those are found
  std::vector<std::vector<int>> of_thread_;  // samples with a stack, in order of time
};

}  // namespace

std::uint32_t StepLoop::StepAt(std::uint64_t time_ns) const {
  const auto after = std::ranges::upper_bound(borders, time_ns, {}, &StepBorder::time_ns);
  return after == borders.end() ? 0 : static_cast<std::uint32_t>(after - borders.begin());
}

Result<void> CheckHasSteps(const v1::Profile& profile) {
  if (HasSampleTimes(profile)) return {};
  return Error{ErrorCode::kUnsupported, "this profile has no times of samples, and so no steps",
               "those of the history have none: collect one"};
}

// Of n sampling points, one in each period, the first and the last may lie at its very borders.
std::uint64_t LastPointNs(const v1::Profile& profile, int sample) {
  const v1::Samples& samples = profile.samples();
  const std::uint64_t count = samples.count(sample);
  if (samples.state(sample) == v1::STATE_ON_CPU || count <= 2) return samples.time_ns(sample);
  return samples.time_ns(sample) + samples.raw_weight_ns(sample) / count * (count - 2);
}

std::string SourceName(const StepLoop& loop) {
  return loop.function.empty() ? SafeName(loop.said_by) : loop.function;
}

void CountSamples(const v1::Profile& profile, StepLoop& loop) {
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.node_size(); ++i)
    if (samples.thread(i) == loop.thread && loop.StepAt(samples.time_ns(i)) != 0)
      loop.samples += samples.count(i);
}

Result<StepLoop> FindStepLoop(const v1::Profile& profile, std::string_view function) {
  PROFD_TRY(CheckHasSteps(profile));
  Search search(profile);
  for (const std::uint32_t thread : search.Threads())
    if (auto loop = search.In(thread, function)) return *std::move(loop);
  const std::string least = std::to_string(kLeastFalls);
  if (!function.empty())
    return Error{
        ErrorCode::kNotFound,
        "no Python function " + SafeName(function) + " that has repeated " + least + " times",
        "report --by function shows what ran; collect for longer, or with a higher -F"};
  return Error{ErrorCode::kNotFound, "no Python function has repeated " + least + " times",
               "collect for longer, or with a higher -F; steps are found in Python programs"};
}

}  // namespace profd::client
