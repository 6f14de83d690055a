#include "client/format/timeline/trace_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "client/format/timeline/wait_arrows.h"
#include "client/profile/host_names.h"
#include "client/profile/labels/label_values.h"
#include "client/profile/on_whom.h"
#include "client/profile/operators/operators.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/report_time.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/profile/steps/program_steps.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kNoRow = ~0u;
constexpr std::uint32_t kFirstMadeId = 1'000'000'000;  // above every pid
constexpr std::uint64_t kLeastBinNs = 100'000'000;     // of counters
constexpr std::uint64_t kMostBins = 500;

bool IsSampled(const v1::Samples& samples, int i) {
  return samples.count(i) != 0 || samples.exact(i);
}

// Nested slices out of what is open in each interval, outermost first.
class Nest {
 public:
  using Level = std::pair<std::uint32_t, std::uint32_t>;  // name, detail

  explicit Nest(std::vector<TraceSlice>& slices) : slices_(slices) {}

  void Add(const TimelineSlice& interval, const std::vector<Level>& levels) {
    std::size_t same = 0;
    if (interval.begin_ns == end_ns_)
      while (same < open_.size() && same < levels.size() && IsOf(open_[same], levels[same])) ++same;
    open_.resize(same);
    end_ns_ = interval.end_ns();
    for (const std::size_t slice : open_) slices_[slice].end_ns = end_ns_;
    for (std::size_t i = same; i < levels.size(); ++i) {
      open_.push_back(slices_.size());
      slices_.push_back({interval.begin_ns, end_ns_, levels[i].first, levels[i].second});
    }
  }

 private:
  [[nodiscard]] bool IsOf(std::size_t slice, const Level& level) const {
    return slices_[slice].name == level.first && slices_[slice].detail == level.second;
  }

  std::vector<TraceSlice>& slices_;
  std::vector<std::size_t> open_;
  std::uint64_t end_ns_ = ~0ull;
};

class Builder {
 public:
  Builder(const v1::Profile& profile, const ExportOptions& options)
      : profile_(profile), operators_(profile), timeline_(Timeline::Of(profile)) {
    const FrameStyle style{
        .signature = options.signatures, .mangled = options.mangled, .line = options.lines};
    frames_.reserve(static_cast<std::size_t>(profile.frames_size()));
    for (const v1::Frame& frame : profile.frames())
      frames_.push_back(Name(FrameName(frame, style)));
    Detail({});
    MakeProcessIds();
  }

  Result<TraceRows> Run() && {
    std::vector<std::size_t> order(timeline_.tracks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return profile_.threads(static_cast<int>(timeline_.tracks[i].thread)).process();
    });
    states_row_.assign(timeline_.tracks.size(), kNoRow);
    SortSwitches();
    for (const std::size_t i : order) {
      PROFD_TRY(AddTrack(i));
    }
    if (timeline_.has_times) {
      AddSteps();
      profile_.has_switches() ? AddWakeFlows() : AddFlows();
      AddCounters();
    }
    timeline_.tracks.clear();
    out_.timeline = std::move(timeline_);
    return std::move(out_);
  }

 private:
  static Error TooLarge() {
    return Error{ErrorCode::kExhausted, "the profile is too large for a timeline",
                 "write json or folded, or collect for a shorter time"};
  }

  std::uint32_t Name(const std::string& name) {
    const auto next = static_cast<std::uint32_t>(out_.names.size());
    const auto [known, is_new] = names_.try_emplace(name, next);
    if (is_new) out_.names.push_back(name);
    return known->second;
  }

  std::uint32_t Detail(TraceRows::Detail detail) {
    const auto next = static_cast<std::uint32_t>(out_.details.size());
    const auto [known, is_new] = details_.try_emplace(std::move(detail), next);
    if (is_new) out_.details.push_back(known->first);
    return known->second;
  }

  std::uint32_t DistinctId(std::uint32_t wanted, std::set<std::uint32_t>& used) {
    if (wanted != 0 && wanted < kFirstMadeId && used.insert(wanted).second) return wanted;
    return next_id_++;
  }

  void MakeProcessIds() {
    for (const v1::Process& process : profile_.processes())
      out_.process_ids.push_back(DistinctId(process.pid(), pids_));
  }

  const v1::Thread& ThreadOf(const TimelineTrack& track) const {
    return profile_.threads(static_cast<int>(track.thread));
  }

  std::size_t AddRow(RowKind kind, std::string name, std::uint32_t thread, std::uint32_t id) {
    const std::uint32_t process = profile_.threads(static_cast<int>(thread)).process();
    out_.rows.push_back({kind, std::move(name), process, thread, id, {}});
    return out_.rows.size() - 1;
  }

  Result<void> AddTrack(std::size_t index) {
    const TimelineTrack& track = timeline_.tracks[index];
    const v1::Thread& thread = ThreadOf(track);
    std::string name = ThreadName(thread);
    if (track.lanes > 1) name += ", " + std::to_string(track.lane + 1);
    const std::size_t stacks = AddRow(RowKind::kStacks, name, track.thread,
                                      DistinctId(track.lane == 0 ? thread.tid() : 0, tids_));
    PROFD_TRY(Fill(track, stacks, &Builder::StackLevels));
    states_row_[index] = static_cast<std::uint32_t>(
        AddRow(RowKind::kStates, name + ": states", track.thread, DistinctId(0, tids_)));
    PROFD_TRY(Fill(track, states_row_[index], &Builder::StateLevels));
    PROFD_TRY(AddSwitches(track, name));
    const auto has_operators = [&](const TimelineSlice& slice) {
      return operators_.OperatorOf(slice.sample).has_value() ||
             operators_.PhaseOf(slice.sample) != v1::PHASE_NONE;
    };
    if (operators_.empty() || std::ranges::none_of(track.slices, has_operators)) return {};
    return Fill(
        track,
        AddRow(RowKind::kOperators, name + ": operators", track.thread, DistinctId(0, tids_)),
        &Builder::OperatorLevels);
  }

  Result<void> Fill(const TimelineTrack& track, std::size_t row,
                    void (Builder::*levels)(const TimelineSlice& slice)) {
    Nest nest(out_.rows[row].slices);
    for (const TimelineSlice& slice : track.slices) {
      levels_.clear();
      (this->*levels)(slice);
      const std::size_t before = out_.rows[row].slices.size();
      nest.Add(slice, levels_);
      slices_ += out_.rows[row].slices.size() - before;
      if (slices_ > TraceRows::kMaxSlices) return TooLarge();
    }
    return {};
  }

  void StackLevels(const TimelineSlice& slice) {
    const int i = slice.sample;
    if (profile_.samples().node(i) == 0) levels_.emplace_back(Name(std::string(kNoStack)), 0);
    for (std::uint32_t at = profile_.samples().node(i); at != 0;) {
      const v1::StackNode& node = profile_.nodes(static_cast<int>(at) - 1);
      levels_.emplace_back(frames_[node.frame()], 0);
      at = node.parent();
    }
    std::ranges::reverse(levels_);
    if (!IsWorking(profile_, i))
      levels_.emplace_back(Name(std::string(StateFrameName(profile_, i))), 0);
  }

  // "blocked:lock"; "stolen"; "working, not sampled".
  void StateLevels(const TimelineSlice& slice) {
    const int i = slice.sample;
    std::string_view state = StateFrameName(profile_, i);
    state = state.substr(1, state.size() - 2);
    const bool stolen = PartOf(profile_, i) == TimePart::kStolen;
    std::string name(stolen ? PartName(TimePart::kStolen) : state);
    if (!stolen && !IsSampled(profile_.samples(), i)) name += ", not sampled";
    levels_.emplace_back(Name(name), DetailOf(i));
  }

  void OperatorLevels(const TimelineSlice& slice) {
    const std::string_view phase = PhaseName(operators_.PhaseOf(slice.sample));
    if (!phase.empty()) levels_.emplace_back(Name(std::string(phase)), 0);
    if (const auto op = operators_.OperatorOf(slice.sample))
      levels_.emplace_back(Name(operators_.names()[*op]), 0);
  }

  std::uint32_t DetailOf(int i) {
    TraceRows::Detail detail;
    const v1::Samples& samples = profile_.samples();
    if (const v1::Rule* rule = RuleOf(profile_, i))
      detail.emplace_back("class", ClassName(rule->frame_class()));
    if (const auto gil = GilName(GilOf(samples, i)); !gil.empty()) detail.emplace_back("gil", gil);
    if (const auto labels = LabelsText(profile_, LabelsOf(profile_, i)); !labels.empty())
      detail.emplace_back("labels", labels);
    if (samples.state(i) == v1::STATE_BLOCKED && samples.path_size() > 0 && samples.path(i) != 0) {
      const std::uint32_t process = profile_.threads(static_cast<int>(samples.thread(i))).process();
      const auto [known, is_new] = chains_.try_emplace({process, samples.path(i)});
      if (is_new)
        known->second = SafeName(ChainOf(ShownSteps(
            profile_, samples.path(i), profile_.processes(static_cast<int>(process)).pid())));
      detail.emplace_back("waits for", known->second);
    }
    return Detail(std::move(detail));
  }

  // Of each thread of which all are known.
  void SortSwitches() {
    switches_.resize(static_cast<std::size_t>(profile_.threads_size()));
    switches_row_.assign(switches_.size(), kNoRow);
    const v1::Switches& all = profile_.switches();
    for (int i = 0; i < all.thread_size(); ++i) switches_[all.thread(i)].push_back(i);
    for (const std::uint32_t thread : all.incomplete()) switches_[thread].clear();
  }

  Result<void> AddSwitches(const TimelineTrack& track, const std::string& name) {
    const std::vector<int>& switches = switches_[track.thread];
    if (switches.empty() || track.lanes > 1) return {};
    slices_ += 3 * switches.size() + 1;
    if (slices_ > TraceRows::kMaxSlices) return TooLarge();
    const v1::Switches& all = profile_.switches();
    const v1::Thread& thread = ThreadOf(track);
    const std::size_t row =
        AddRow(RowKind::kSwitches, name + ": switches", track.thread, DistinctId(0, tids_));
    switches_row_[track.thread] = static_cast<std::uint32_t>(row);
    std::uint64_t from_ns = thread.begin_ns();
    const auto add = [&](std::uint64_t to_ns, const std::string& what, std::uint32_t detail = 0) {
      if (to_ns > from_ns) out_.rows[row].slices.push_back({from_ns, to_ns, Name(what), detail});
      from_ns = std::max(from_ns, to_ns);
    };
    std::string running = "running";
    for (const int i : switches) {
      add(all.out_ns(i), running);
      const bool woken = all.reason(i) <= v1::LEAVE_IO || all.reason(i) == v1::LEAVE_BEGAN;
      const std::string left(LeaveName(all.reason(i)));
      if (woken) add(all.ready_ns(i), "blocked, " + left, WakeDetail(i));
      add(all.in_ns(i) == 0 ? thread.end_ns() : all.in_ns(i),
          woken ? "runnable" : "runnable, " + left);
      running = "running, CPU " + std::to_string(all.cpu(i));
    }
    add(thread.end_ns(), running);
    return {};
  }

  static std::string_view LeaveName(v1::LeaveReason reason) {
    switch (reason) {
      case v1::LEAVE_SLEEP:
        return "sleep";
      case v1::LEAVE_UNINTERRUPTIBLE:
        return "uninterruptible";
      case v1::LEAVE_IO:
        return "io";
      case v1::LEAVE_PREEMPTED:
        return "preempted";
      case v1::LEAVE_YIELDED:
        return "yielded";
      case v1::LEAVE_BEGAN:
        return "made";
      default:
        return "other";
    }
  }

  // Who has woken it.
  std::uint32_t WakeDetail(int i) {
    const v1::Switches& all = profile_.switches();
    if (all.by_interrupt(i)) return Detail({{"woken by", "an interrupt"}});
    if (all.waker_tid(i) == 0) return 0;
    const int waker = ThreadAt(all.waker_tid(i), all.woken_ns(i), all.thread(i));
    return Detail({{"woken by", waker < 0 ? "thread " + std::to_string(all.waker_tid(i))
                                          : ThreadName(profile_.threads(waker))}});
  }

  [[nodiscard]] std::string_view HostOfThread(int thread) const {
    return HostOf(profile_.processes(static_cast<int>(profile_.threads(thread).process())));
  }

  // The thread that had this tid then, on the host of `beside`; -1: none of the profile.
  int ThreadAt(std::uint32_t tid, std::uint64_t time_ns, std::uint32_t beside) {
    if (threads_by_tid_.empty())
      for (int i = 0; i < profile_.threads_size(); ++i)
        if (profile_.threads(i).group_size() == 0)
          threads_by_tid_.emplace(profile_.threads(i).tid(), i);
    const auto [first, last] = threads_by_tid_.equal_range(tid);
    for (auto at = first; at != last; ++at) {
      const v1::Thread& thread = profile_.threads(at->second);
      if (thread.begin_ns() <= time_ns && time_ns < thread.end_ns() &&
          HostOfThread(at->second) == HostOfThread(static_cast<int>(beside)))
        return at->second;
    }
    return -1;
  }

  // From each thread that has woken another one, where both have all of their switches.
  void AddWakeFlows() {
    const v1::Switches& all = profile_.switches();
    for (int i = 0; i < all.thread_size(); ++i) {
      const std::uint64_t time_ns = all.woken_ns(i);
      const std::uint32_t to = switches_row_[all.thread(i)];
      if (all.waker_tid(i) == 0 || time_ns == 0 || to == kNoRow) continue;
      const int waker = ThreadAt(all.waker_tid(i), time_ns, all.thread(i));
      const std::uint32_t from =
          waker < 0 ? kNoRow : switches_row_[static_cast<std::size_t>(waker)];
      const v1::Thread& wakee = profile_.threads(static_cast<int>(all.thread(i)));
      if (from == kNoRow || from == to || time_ns < wakee.begin_ns() || time_ns >= wakee.end_ns())
        continue;
      out_.flows.push_back({from, to, time_ns});
    }
    std::ranges::stable_sort(out_.flows, {}, &TraceFlow::time_ns);
  }

  void AddSteps() {
    const auto steps = FindProgramSteps(profile_, {});
    if (!steps || steps->loop.rough()) return;
    const StepLoop& loop = steps->loop;
    const v1::Thread& thread = profile_.threads(static_cast<int>(loop.thread));
    const std::size_t row =
        AddRow(RowKind::kSteps, ThreadName(thread) + ": steps of " + SourceName(loop), loop.thread,
               DistinctId(0, tids_));
    for (std::size_t i = 0; i + 1 < loop.borders.size(); ++i) {
      const StepBorder& border = loop.borders[i];
      const std::uint64_t end_ns = loop.borders[i + 1].time_ns;
      if (border.time_ns >= end_ns || slices_++ >= TraceRows::kMaxSlices) continue;
      out_.rows[row].slices.push_back(
          {border.time_ns, end_ns, Name("step " + std::to_string(i + 1)),
           Detail({{"begins within", "+-" + FormatDuration(border.reach_ns)}})});
    }
  }

  void AddFlows() {
    for (const WaitArrow& arrow : WaitArrows(profile_, timeline_))
      out_.flows.push_back({states_row_[arrow.from], states_row_[arrow.to], arrow.time_ns});
    std::ranges::stable_sort(out_.flows, {}, &TraceFlow::time_ns);
  }

  void AddCounters() {
    const std::uint64_t length_ns = timeline_.end_ns - timeline_.begin_ns;
    if (length_ns == 0 || !profile_.on_cpu()) return;
    const std::uint64_t bin_ns = std::max(kLeastBinNs, length_ns / kMostBins + 1);
    const std::size_t bins = static_cast<std::size_t>((length_ns + bin_ns - 1) / bin_ns);
    std::map<std::uint32_t, std::vector<std::uint64_t>> busy;  // by process: ns in each bin
    for (const TimelineTrack& track : timeline_.tracks) {
      auto& of = busy[ThreadOf(track).process()];
      of.resize(bins);
      for (const TimelineSlice& slice : track.slices) {
        if (profile_.samples().state(slice.sample) != v1::STATE_ON_CPU) continue;
        for (std::uint64_t at = slice.begin_ns - timeline_.begin_ns,
                           end = slice.end_ns() - timeline_.begin_ns;
             at < end;) {
          const std::uint64_t border = std::min(end, (at / bin_ns + 1) * bin_ns);
          of[static_cast<std::size_t>(at / bin_ns)] += border - at;
          at = border;
        }
      }
    }
    for (const auto& [process, of] : busy) {
      TraceCounter counter{.process = process, .values = {}};
      for (std::size_t i = 0; i < of.size(); ++i) {
        const std::uint64_t begin_ns = i * bin_ns;
        const std::uint64_t width_ns = std::min(bin_ns, length_ns - begin_ns);
        counter.values.emplace_back(timeline_.begin_ns + begin_ns,
                                    static_cast<double>(of[i]) / static_cast<double>(width_ns));
      }
      counter.values.emplace_back(timeline_.end_ns, 0);
      out_.counters.push_back(std::move(counter));
    }
  }

  const v1::Profile& profile_;
  const Operators operators_;
  Timeline timeline_;
  TraceRows out_;
  std::vector<std::uint32_t> frames_;  // names, by frame of the profile
  std::unordered_map<std::string, std::uint32_t> names_;
  std::map<TraceRows::Detail, std::uint32_t> details_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> chains_;  // by process and path
  std::set<std::uint32_t> pids_;
  std::vector<std::vector<int>> switches_;   // by thread; none where some are missing
  std::vector<std::uint32_t> switches_row_;  // by thread
  std::multimap<std::uint32_t, int> threads_by_tid_;
  std::set<std::uint32_t> tids_;
  std::uint32_t next_id_ = kFirstMadeId;
  std::vector<std::uint32_t> states_row_;  // by track
  std::vector<Nest::Level> levels_;
  std::size_t slices_ = 0;
};

}  // namespace

Result<TraceRows> TraceRows::Of(const v1::Profile& profile, const ExportOptions& options) {
  return Builder(profile, options).Run();
}

}  // namespace profd::client
