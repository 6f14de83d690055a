// firefox: the processed profile format of the Firefox Profiler (profiler.firefox.com), gzipped.
//
// Always version 60, which its upgraders read. A thread per track of the timeline; weights are
// durations in ms, so that its call tree shows time in every state. The leaf of a stack that does
// not work is its state, whose category colours the graph; the CPU graph shows what ran. Waits,
// operators and steps are markers; a flow goes from who ended a wait to the waiter.
#include "client/format/exporter.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/format/timeline/timeline.h"
#include "client/format/timeline/wait_arrows.h"
#include "client/profile/check_profile.h"
#include "client/profile/labels/label_values.h"
#include "client/profile/on_whom.h"
#include "client/profile/operators/operators.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/report_time.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/profile/steps/program_steps.h"
#include "client/profile/wait_reasons.h"
#include "client/text/escape.h"
#include "client/text/number.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr int kVersion = 60;
constexpr std::size_t kMaxSamples = 8'000'000;
constexpr std::uint64_t kUsualPeriodNs = 10'000'000;  // where the profile has none

// In the order of the file.
enum Category { kOther, kPython, kNative, kKernel, kJit, kSpinning, kRunnable, kBlocked, kStolen };
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kCategories{
    {{"Other", "grey"},
     {"Python", "green"},
     {"Native", "blue"},
     {"Kernel", "orange"},
     {"JIT", "lightblue"},
     {"Spinning", "purple"},
     {"Runnable", "yellow"},
     {"Blocked", "darkgrey"},
     {"Stolen", "brown"}}};

Category CategoryOf(const v1::Frame& frame) {
  switch (frame.kind()) {
    case v1::FRAME_PYTHON:
      return kPython;
    case v1::FRAME_KERNEL:
      return kKernel;
    case v1::FRAME_JIT:
      return kJit;
    case v1::FRAME_NATIVE:
      return kNative;
    default:
      return kOther;
  }
}

Category CategoryOf(TimePart part) {
  switch (part) {
    case TimePart::kSpinning:
      return kSpinning;
    case TimePart::kRunnable:
      return kRunnable;
    case TimePart::kBlocked:
      return kBlocked;
    case TimePart::kStolen:
      return kStolen;
    default:
      return kOther;
  }
}

// ns as ms, all digits.
std::string Ms(std::uint64_t ns) {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  char text[40];
  std::snprintf(text, sizeof text, "%llu.%06llu", static_cast<unsigned long long>(ns / kNsPerMs),
                static_cast<unsigned long long>(ns % kNsPerMs));
  std::string trimmed = text;
  trimmed.erase(trimmed.find_last_not_of('0') + 1);
  if (trimmed.ends_with('.')) trimmed.pop_back();
  return trimmed;
}

// Columns of a table, as text: "\"a\":[...],\"b\":[...],\"length\":n".
class Columns {
 public:
  explicit Columns(std::vector<std::string_view> names)
      : names_(std::move(names)), columns_(names_.size()) {}

  void Add(const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (length_ != 0) columns_[i] += ',';
      columns_[i] += cells[i];
    }
    ++length_;
  }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] std::string Text() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i)
      text += QuoteJson(names_[i]) + ":[" + columns_[i] + "],";
    return text + "\"length\":" + std::to_string(length_);
  }

 private:
  const std::vector<std::string_view> names_;
  std::vector<std::string> columns_;
  std::size_t length_ = 0;
};

// A sample as the Profiler has it.
struct Point {
  std::uint64_t time_ns = 0;
  std::uint64_t weight_ns = 0;
  int sample = 0;
};

constexpr std::string_view kWait = "Wait";

// An interval with the same text, or an instant.
struct Marker {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // 0: an instant
  std::string_view name;
  int category = kOther;
  std::string data;  // an object
};

// Of the file, the tables that all threads share.
class Shared {
 public:
  Shared(const v1::Profile& profile, const ExportOptions& options)
      : profile_(profile),
        style_{.signature = options.signatures, .mangled = options.mangled, .line = options.lines},
        build_ids_(BuildIdsOf(profile)) {
    for (const v1::Frame& frame : profile.frames()) AddFrame(frame);
    for (const v1::StackNode& node : profile.nodes())
      AddStack(std::to_string(node.frame()), node.parent());
  }

  // Index of the stack of a sample, with its state.
  std::uint32_t StackOf(int sample) {
    const std::uint32_t node = profile_.samples().node(sample);
    const bool works = IsWorking(profile_, sample) && IsNothingElse(sample);
    if (works && node != 0) return node - 1;
    const std::uint32_t base = node == 0 ? Child(0, std::string(kNoStack), kOther, 0) + 1 : node;
    if (works) return base - 1;
    const TimePart part = PartOf(profile_, sample);
    const auto subcategory =
        part == TimePart::kBlocked
            ? static_cast<std::uint32_t>(EntryOf(profile_.samples().wait(sample)).reason)
            : 0;
    const std::string name(part == TimePart::kStolen ? "[stolen]"
                                                     : StateFrameName(profile_, sample));
    return Child(base, name, CategoryOf(part), subcategory);
  }

  std::uint32_t String(const std::string& text) {
    const auto next = static_cast<std::uint32_t>(strings_.size());
    const auto [known, is_new] = string_ids_.try_emplace(text, next);
    if (is_new) strings_.push_back(&known->first);
    return known->second;
  }

  [[nodiscard]] std::string LibsText() const { return "[" + libs_ + "]"; }
  [[nodiscard]] std::string Text() const {
    std::string text = "{\"stringArray\":[";
    for (std::size_t i = 0; i < strings_.size(); ++i)
      text += (i == 0 ? "" : ",") + QuoteJson(*strings_[i]);
    return text + "],\"stackTable\":{" + stacks_.Text() + "},\"frameTable\":{" + frames_.Text() +
           "},\"funcTable\":{" + funcs_.Text() + "},\"resourceTable\":{" + resources_.Text() +
           "},\"nativeSymbols\":{" + native_symbols_.Text() + "},\"sources\":{" + sources_.Text() +
           "}}";
  }

 private:
  // [stolen] is a stack by itself.
  bool IsNothingElse(int sample) const { return PartOf(profile_, sample) != TimePart::kStolen; }

  static std::string Number(std::optional<std::size_t> number, std::string_view none) {
    return number ? std::to_string(*number) : std::string(none);
  }

  void AddFrame(const v1::Frame& frame) {
    std::optional<std::size_t> resource;
    const bool has_place = frame.kind() == v1::FRAME_NATIVE && !frame.module().empty();
    if (!frame.module().empty()) resource = Resource(SafeName(frame.module()));
    std::optional<std::size_t> source;
    if (!frame.file().empty()) source = Source(SafeName(frame.file()));
    const std::size_t func = Func(FrameName(frame, style_), resource, source);
    constexpr std::uint64_t kMostAddress = (1ull << 53) - 1;  // that a reader's number holds
    AddFrameRow(func, CategoryOf(frame), 0,
                has_place && frame.offset() <= kMostAddress ? std::to_string(frame.offset()) : "-1",
                frame.inlined() ? "1" : "0",
                frame.line() == 0 ? "null" : std::to_string(frame.line()));
  }

  void AddFrameRow(std::size_t func, int category, std::uint32_t subcategory,
                   const std::string& address, const std::string& inline_depth,
                   const std::string& line) {
    frames_.Add({address, inline_depth, std::to_string(category), std::to_string(subcategory),
                 std::to_string(func), "null", "0", line, "null"});
  }

  // `parent`: 1 + index of a stack; 0: none.
  void AddStack(const std::string& frame, std::uint32_t parent) {
    stacks_.Add({frame, parent == 0 ? "null" : std::to_string(parent - 1)});
  }

  // The stack of a frame that stands for no code.
  std::uint32_t Child(std::uint32_t parent, const std::string& name, int category,
                      std::uint32_t subcategory) {
    const auto [known, is_new] =
        children_.try_emplace({parent, name}, static_cast<std::uint32_t>(stacks_.length()));
    if (!is_new) return known->second;
    const auto [frame, is_new_frame] =
        pseudo_frames_.try_emplace(name, static_cast<std::uint32_t>(frames_.length()));
    if (is_new_frame)
      AddFrameRow(Func(name, std::nullopt, std::nullopt), category, subcategory, "-1", "0", "null");
    AddStack(std::to_string(frame->second), parent);
    return known->second;
  }

  std::size_t Func(const std::string& name, std::optional<std::size_t> resource,
                   std::optional<std::size_t> source) {
    const std::string key = name + '\0' + Number(resource, "-") + '\0' + Number(source, "-");
    const auto [known, is_new] = func_ids_.try_emplace(key, funcs_.length());
    if (is_new)
      funcs_.Add({std::to_string(String(name)), "false", "false", Number(resource, "-1"),
                  Number(source, "null"), "null", "null"});
    return known->second;
  }

  std::size_t Resource(const std::string& module) {
    const auto [known, is_new] = resource_ids_.try_emplace(module, resources_.length());
    if (!is_new) return known->second;
    const std::string name = QuoteJson(BaseName(module).empty() ? module : BaseName(module));
    const auto id = build_ids_.find(module);
    libs_ += std::string(libs_.empty() ? "" : ",") + "{\"arch\":\"x86_64\",\"name\":" + name +
             ",\"path\":" + QuoteJson(module) + ",\"debugName\":" + name +
             ",\"debugPath\":" + QuoteJson(module) + ",\"breakpadId\":\"\",\"codeId\":" +
             (id == build_ids_.end() ? "null" : QuoteJson(id->second)) + "}";
    constexpr std::string_view kLibrary = "1";
    resources_.Add({std::to_string(known->second),
                    std::to_string(String(std::string(BaseName(module)))), "null",
                    std::string(kLibrary)});
    return known->second;
  }

  std::size_t Source(const std::string& file) {
    const auto [known, is_new] = source_ids_.try_emplace(file, sources_.length());
    if (is_new) sources_.Add({"null", std::to_string(String(file))});
    return known->second;
  }

  const v1::Profile& profile_;
  const FrameStyle style_;
  const std::map<std::string, std::string> build_ids_;  // by module
  std::unordered_map<std::string, std::uint32_t> string_ids_;
  std::vector<const std::string*> strings_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> children_;  // stacks
  std::map<std::string, std::uint32_t> pseudo_frames_;
  std::unordered_map<std::string, std::size_t> func_ids_;
  std::map<std::string, std::size_t> resource_ids_;
  std::map<std::string, std::size_t> source_ids_;
  Columns stacks_{{"frame", "prefix"}};
  Columns frames_{{"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                   "innerWindowID", "line", "column"}};
  Columns funcs_{
      {"name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"}};
  Columns resources_{{"lib", "name", "host", "type"}};
  Columns native_symbols_{{"libIndex", "address", "name", "functionSize"}};
  Columns sources_{{"uuid", "filename"}};
  std::string libs_;
};

class Builder {
 public:
  Builder(const v1::Profile& profile, const ExportOptions& options)
      : profile_(profile),
        options_(options),
        operators_(profile),
        timeline_(Timeline::Of(profile)),
        shared_(profile, options),
        period_ns_(PeriodOf(profile)) {}

  Result<std::string> Text() && {
    FindSteps();
    std::set<std::uint32_t> used;
    for (const v1::Process& process : profile_.processes()) {
      const bool is_distinct = process.pid() != 0 && used.insert(process.pid()).second;
      pids_.push_back(std::to_string(process.pid()) +
                      (is_distinct ? "" : "." + std::to_string(pids_.size())));
    }
    std::vector<std::vector<Marker>> markers;
    markers.reserve(timeline_.tracks.size());
    for (const TimelineTrack& track : timeline_.tracks) markers.push_back(MarkersOf(track));
    AddFlows(markers);
    std::string threads;
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      threads += (threads.empty() ? "\n" : ",\n") + ThreadText(timeline_.tracks[i], markers[i]);
      if (points_ > kMaxSamples)
        return Error{ErrorCode::kExhausted, "the profile is too large for the firefox format",
                     "write json or folded, or collect for a shorter time"};
    }
    // The Profiler refuses a profile without a thread.
    if (threads.empty()) threads = NoThreadText();
    return "{\"meta\":" + MetaText() + ",\n\"libs\":" + shared_.LibsText() +
           ",\n\"pages\":[],\"shared\":" + shared_.Text() + ",\n\"threads\":[" + threads + "]}\n";
  }

 private:
  static std::uint64_t PeriodOf(const v1::Profile& profile) {
    if (profile.on_cpu_period_ns() != 0) return profile.on_cpu_period_ns();
    return profile.off_cpu_period_ns() != 0 ? profile.off_cpu_period_ns() : kUsualPeriodNs;
  }

  [[nodiscard]] std::string Time(std::uint64_t ns) const { return Ms(ns - timeline_.begin_ns); }

  void FindSteps() {
    auto steps = FindProgramSteps(profile_, {});
    if (steps && !steps->loop.rough()) loop_ = std::move(steps->loop);
  }

  // The graph takes the border between two samples half way between them. A long slice has two
  // samples, half a period from its ends, so that borders stand where they belong. Two samples
  // without weight are the ends of the track: CPU time is shown between samples only.
  std::vector<Point> PointsOf(const TimelineTrack& track) const {
    std::vector<Point> points{{track.slices.front().begin_ns, 0, track.slices.front().sample}};
    for (const TimelineSlice& slice : track.slices) {
      if (slice.length_ns <= 2 * period_ns_) {
        points.push_back({slice.begin_ns + slice.length_ns / 2, slice.length_ns, slice.sample});
        continue;
      }
      const std::uint64_t half_ns = slice.length_ns / 2;
      points.push_back({slice.begin_ns + period_ns_ / 2, half_ns, slice.sample});
      points.push_back({slice.end_ns() - period_ns_ / 2, slice.length_ns - half_ns, slice.sample});
    }
    points.push_back({track.slices.back().end_ns(), 0, track.slices.back().sample});
    return points;
  }

  [[nodiscard]] bool Ran(const TimelineSlice& slice) const {
    return profile_.samples().state(slice.sample) == v1::STATE_ON_CPU;
  }

  std::string SamplesText(const TimelineTrack& track) {
    Columns columns({"stack", "time", "weight", "threadCPUDelta"});
    const std::vector<Point> points = PointsOf(track);
    points_ += points.size();
    std::size_t slice = 0;
    std::uint64_t before_ns = track.slices.front().begin_ns;
    for (const Point& point : points) {
      std::uint64_t ran_ns = 0;  // since the point before
      while (before_ns < point.time_ns) {
        const TimelineSlice& at = track.slices[slice];
        const std::uint64_t begin_ns = std::max(before_ns, at.begin_ns);
        const std::uint64_t end_ns = std::min(point.time_ns, at.end_ns());
        if (begin_ns < end_ns && Ran(at)) ran_ns += end_ns - begin_ns;
        before_ns = std::max(before_ns, end_ns);
        if (at.end_ns() >= point.time_ns) break;
        ++slice;
      }
      before_ns = point.time_ns;
      columns.Add({std::to_string(shared_.StackOf(point.sample)), Time(point.time_ns),
                   Ms(point.weight_ns), std::to_string(ran_ns)});
    }
    return columns.Text() + ",\"weightType\":\"tracing-ms\"";
  }

  std::vector<Marker> MarkersOf(const TimelineTrack& track) {
    std::vector<Marker> markers;
    const auto add = [&](const TimelineSlice& slice, std::string_view name, int category,
                         std::string data, std::optional<std::size_t>& last) {
      if (last && markers[*last].end_ns == slice.begin_ns && markers[*last].data == data) {
        markers[*last].end_ns = slice.end_ns();
        return;
      }
      last = markers.size();
      markers.push_back({slice.begin_ns, slice.end_ns(), name, category, std::move(data)});
    };
    std::optional<std::size_t> wait;
    std::optional<std::size_t> op;
    std::optional<std::size_t> label;
    for (const TimelineSlice& slice : track.slices) {
      const int i = slice.sample;
      if (profile_.samples().state(i) == v1::STATE_BLOCKED)
        add(slice, kWait, kBlocked, WaitData(i), wait);
      const auto name = operators_.OperatorOf(i);
      const v1::Phase phase = operators_.PhaseOf(i);
      if (name || phase != v1::PHASE_NONE)
        add(slice, "Operator", kOther,
            "{\"type\":\"Operator\",\"operator\":" +
                QuoteJson(name ? operators_.names()[*name] : "") +
                ",\"phase\":" + QuoteJson(PhaseName(phase)) + "}",
            op);
      if (const std::uint32_t labels = LabelsOf(profile_, i); labels != 0)
        add(slice, "Labels", kOther,
            "{\"type\":\"Labels\",\"labels\":" + QuoteJson(LabelsText(profile_, labels)) + "}",
            label);
    }
    if (loop_ && loop_->thread == track.thread)
      for (std::size_t i = 0; i + 1 < loop_->borders.size(); ++i)
        if (loop_->borders[i].time_ns >= timeline_.begin_ns)
          markers.push_back(
              {loop_->borders[i].time_ns, loop_->borders[i + 1].time_ns, "Step", kOther,
               "{\"type\":\"Step\",\"step\":" + QuoteJson(std::to_string(i + 1)) +
                   ",\"function\":" + QuoteJson(SourceName(*loop_)) + ",\"reach\":" +
                   QuoteJson("+-" + FormatDuration(loop_->borders[i].reach_ns)) + "}"});
    return markers;
  }

  // The Profiler joins markers with the same text in a field of flows.
  void AddFlows(std::vector<std::vector<Marker>>& markers) {
    std::size_t flows = 0;
    std::vector<std::size_t> next(markers.size());  // of each track: arrows come in order of time
    for (const WaitArrow& arrow : WaitArrows(profile_, timeline_)) {
      std::vector<Marker>& of = markers[arrow.to];
      std::size_t& at = next[arrow.to];
      while (at < of.size() && (of[at].name != kWait || of[at].end_ns <= arrow.time_ns)) ++at;
      // Waits that follow each other, and are alike, are one marker.
      if (at == of.size() || of[at].end_ns != arrow.time_ns + 1) continue;
      const std::string flow = std::to_string(shared_.String("flow " + std::to_string(++flows)));
      of[at].data.insert(of[at].data.size() - 1, ",\"flow\":" + flow);
      const auto thread = timeline_.tracks[arrow.to].thread;
      markers[arrow.from].push_back(
          {arrow.time_ns, 0, "Wake", kOther,
           "{\"type\":\"Wake\",\"thread\":" +
               QuoteJson(ThreadName(profile_.threads(static_cast<int>(thread)))) +
               ",\"flow\":" + flow + "}"});
    }
    for (std::vector<Marker>& of : markers) std::ranges::stable_sort(of, {}, &Marker::begin_ns);
  }

  std::string WaitData(int i) {
    const v1::Samples& samples = profile_.samples();
    const std::uint32_t path = samples.path_size() == 0 ? 0 : samples.path(i);
    const std::uint32_t process = profile_.threads(static_cast<int>(samples.thread(i))).process();
    const auto [known, is_new] = paths_.try_emplace({process, path});
    if (is_new && path != 0) {
      const auto steps =
          ShownSteps(profile_, path, profile_.processes(static_cast<int>(process)).pid());
      known->second = ",\"waker\":" + QuoteJson(steps.front().name) +
                      ",\"path\":" + QuoteJson(SafeName(ChainOf(steps)));
    }
    return "{\"type\":\"Wait\",\"reason\":" + QuoteJson(WaitName(samples.wait(i))) + known->second +
           "}";
  }

  std::string MarkersText(const std::vector<Marker>& markers) {
    points_ += markers.size();
    Columns columns({"data", "name", "startTime", "endTime", "phase", "category"});
    for (const Marker& marker : markers)
      columns.Add({marker.data, std::to_string(shared_.String(std::string(marker.name))),
                   Time(marker.begin_ns), marker.end_ns == 0 ? "null" : Time(marker.end_ns),
                   marker.end_ns == 0 ? "0" : "1", std::to_string(marker.category)});
    return columns.Text();
  }

  std::string ThreadText(const TimelineTrack& track, const std::vector<Marker>& markers) {
    const v1::Thread& thread = profile_.threads(static_cast<int>(track.thread));
    const auto process_index = thread.process();
    const v1::Process& process = profile_.processes(static_cast<int>(process_index));
    std::string name = thread.group_size() != 0 ? ThreadName(thread) : SafeName(thread.comm());
    if (track.lanes > 1) name += ", " + std::to_string(track.lane + 1);
    const bool is_main = thread.tid() != 0 && thread.tid() == process.pid();
    const bool is_whole = thread.group_size() == 0;
    return Head(name, is_main, ProcessName(process), pids_[process_index],
                is_whole
                    ? std::to_string(thread.tid())
                    : "\"" + std::to_string(track.thread) + "." + std::to_string(track.lane) + "\"",
                track.slices.front().begin_ns,
                thread.exited() ? Time(track.slices.back().end_ns()) : "null") +
           ",\"samples\":{" + SamplesText(track) + "},\"markers\":{" + MarkersText(markers) + "}}";
  }

  std::string NoThreadText() {
    return Head("no samples", true, "no samples", "0", "0", timeline_.begin_ns, "null") +
           ",\"samples\":{" + Columns({"stack", "time", "weight"}).Text() +
           ",\"weightType\":\"tracing-ms\"},\"markers\":{" + MarkersText({}) + "}}";
  }

  std::string Head(const std::string& name, bool is_main, const std::string& process,
                   const std::string& pid, const std::string& tid, std::uint64_t begin_ns,
                   const std::string& end) const {
    return "{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
           "\"registerTime\":" +
           Time(begin_ns) + ",\"unregisterTime\":" + end +
           ",\"pausedRanges\":[],\"name\":" + QuoteJson(name) +
           ",\"isMainThread\":" + (is_main ? "true" : "false") +
           ",\"processName\":" + QuoteJson(process) + ",\"pid\":" + QuoteJson(pid) +
           ",\"tid\":" + tid + ",\"showMarkersInTimeline\":true";
  }

  static std::string CategoriesText() {
    std::string text;
    for (std::size_t i = 0; i < kCategories.size(); ++i) {
      const auto& [name, colour] = kCategories[i];
      text += (i == 0 ? "" : ",") + std::string("{\"name\":") + QuoteJson(name) +
              ",\"color\":" + QuoteJson(colour) + ",\"subcategories\":[\"Other\"";
      if (i == kBlocked)  // by number of their reason
        for (const WaitReasonEntry& entry : WaitReasons().subspan(1))
          text += "," + QuoteJson(entry.name());
      text += "]}";
    }
    return "[" + text + "]";
  }

  static std::string SchemaText() {
    const auto field = [](std::string_view key, std::string_view label,
                          std::string_view format = "string") {
      return "{\"key\":" + QuoteJson(key) + ",\"label\":" + QuoteJson(label) +
             ",\"format\":" + QuoteJson(format) + "}";
    };
    const auto schema = [](std::string_view name, std::string_view label, const std::string& fields,
                           std::string_view description) {
      return "{\"name\":" + QuoteJson(name) + ",\"tooltipLabel\":" + QuoteJson(label) +
             ",\"tableLabel\":" + QuoteJson(label) + ",\"chartLabel\":" + QuoteJson(label) +
             ",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],\"fields\":[" +
             fields + "],\"description\":" + QuoteJson(description) + "}";
    };
    return "[" +
           schema("Wait", "{marker.data.reason} {marker.data.waker}",
                  field("reason", "Reason") + "," + field("waker", "Ended by") + "," +
                      field("path", "Waits for") + "," +
                      field("flow", "Flow", "terminating-flow-id"),
                  "A thread was blocked; who ended the wait, and on whom that one waited.") +
           "," +
           schema("Wake", "{marker.data.thread}",
                  field("thread", "Ends the wait of") + "," + field("flow", "Flow", "flow-id"),
                  "The thread ended the wait of another one.") +
           "," +
           schema("Labels", "{marker.data.labels}", field("labels", "Labels"),
                  "What the thread published about its present work.") +
           "," +
           schema("Operator", "{marker.data.operator} {marker.data.phase}",
                  field("operator", "Operator") + "," + field("phase", "Phase"),
                  "What a framework ran, by the rules of profd.") +
           "," +
           schema("Step", "step {marker.data.step}",
                  field("step", "Step") + "," + field("function", "Loop in") + "," +
                      field("reach", "Begins within"),
                  "A turn of the training loop, found in samples.") +
           "]";
  }

  std::string MetaText() const {
    const std::uint64_t lead_ns = profile_.start_ns() - timeline_.begin_ns;
    const std::uint64_t unix_ns =
        profile_.start_unix_ns() - std::min(profile_.start_unix_ns(), lead_ns);
    const std::string title = options_.title.empty() ? TitleOf(profile_) : SafeName(options_.title);
    const auto entry = [](std::string_view label, const std::string& value) {
      return "{\"label\":" + QuoteJson(label) +
             ",\"format\":\"string\",\"value\":" + QuoteJson(value) + "}";
    };
    return "{\"interval\":" + Ms(period_ns_) + ",\"startTime\":" + Ms(unix_ns) +
           ",\"processType\":0,\"product\":" + QuoteJson(title) +
           ",\"importedFrom\":\"profd\",\"stackwalk\":1,\"debug\":false,\"version\":30,"
           "\"preprocessedProfileVersion\":" +
           std::to_string(kVersion) +
           ",\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
           "\"sourceCodeIsNotOnSearchfox\":true,\"platform\":\"Linux\",\"oscpu\":" +
           QuoteJson("Linux " + SafeName(profile_.kernel())) +
           ",\"logicalCPUs\":" + std::to_string(profile_.cpus()) +
           ",\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
           "\"categories\":" +
           CategoriesText() + ",\"markerSchema\":" + SchemaText() +
           ",\"extra\":[{\"label\":\"profd\",\"entries\":[" +
           entry("Version", SafeName(profile_.profd_version())) + "," +
           entry("Host", SafeName(profile_.host())) + "," + entry("Times", timeline_.TimesText()) +
           "]}]}";
  }

  const v1::Profile& profile_;
  const ExportOptions& options_;
  const Operators operators_;
  const Timeline timeline_;
  Shared shared_;
  const std::uint64_t period_ns_;
  std::optional<StepLoop> loop_;
  std::vector<std::string> pids_;                                         // by process
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> paths_;  // by process and path
  std::size_t points_ = 0;                                                // samples and markers
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const auto text = Builder(profile, options).Text();
  if (!text) return text.error();
  google::protobuf::io::OstreamOutputStream bytes(&out);
  google::protobuf::io::GzipOutputStream gzip(&bytes);
  {
    google::protobuf::io::CodedOutputStream coded(&gzip);
    constexpr std::size_t kChunk = 1u << 20;
    for (std::size_t at = 0; at < text->size(); at += kChunk)
      coded.WriteRaw(text->data() + at, static_cast<int>(std::min(kChunk, text->size() - at)));
    if (coded.HadError()) return Error{ErrorCode::kIo, "cannot write the profile", ""};
  }
  if (!gzip.Close()) return Error{ErrorCode::kIo, "cannot write the profile", ""};
  return FinishStream(out);
}

}  // namespace

Exporter FirefoxExporter() {
  return {.name = "firefox",
          .extensions = {".firefox.json.gz"},
          .about = "a timeline of each thread, call trees and waits",
          .viewers = "Firefox Profiler (profiler.firefox.com)",
          .for_terminals = false,
          .write = Write};
}

}  // namespace profd::client
