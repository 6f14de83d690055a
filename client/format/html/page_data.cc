#include "client/format/html/page_data.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/profile/counters/counts.h"
#include "client/profile/fleet_marks.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/frame_places.h"
#include "client/profile/report/report_axis.h"
#include "client/profile/report/report_keys.h"
#include "client/profile/report/report_time.h"
#include "client/profile/report/step_table.h"
#include "client/profile/stack_names.h"
#include "client/profile/steps/program_steps.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLabels = 16;
constexpr std::size_t kMostValues = 65'536;  // of one axis: a table of more serves no one
constexpr std::size_t kMostSteps = 20'000;

void AddNumber(std::uint64_t value, std::string& out) {
  for (; value >= 128; value >>= 7) out += static_cast<char>((value & 127) | 128);
  out += static_cast<char>(value);
}

// By the order in which the page has its colours.
int KindOf(v1::FrameKind kind) {
  switch (kind) {
    case v1::FRAME_KERNEL:
      return 1;
    case v1::FRAME_PYTHON:
      return 2;
    case v1::FRAME_JIT:
      return 3;
    case v1::FRAME_PSEUDO:
      return 4;
    default:
      return 0;
  }
}

// The stacks of a profile, merged by the names of functions.
class MergedStacks {
 public:
  MergedStacks(const v1::Profile& profile, const FrameStyle& style)
      : shown_(profile, false), node_of_(static_cast<std::size_t>(profile.nodes_size()) + 1) {
    std::vector<std::uint32_t> function_of;
    for (const v1::Frame& frame : profile.frames()) function_of.push_back(Function(frame, style));
    for (std::uint32_t node = 1; node < node_of_.size(); ++node)
      node_of_[node] = Node(node_of_[shown_.Parent(node)], function_of[shown_.Frame(node)]);
    leaf_of_.resize(parents_.size());
    for (std::uint32_t node = 1; node < node_of_.size(); ++node)
      leaf_of_[node_of_[node]] = node_of_[shown_.Leaf(node)];
  }

  [[nodiscard]] std::uint32_t NodeOf(std::uint32_t node) const { return node_of_[node]; }
  [[nodiscard]] const ShownStacks& shown() const { return shown_; }
  [[nodiscard]] std::size_t nodes() const { return parents_.size(); }

  [[nodiscard]] json Functions() const {
    return {{"name", names_}, {"module", modules_}, {"kind", kinds_}};
  }
  void AddColumns(std::string& out) const {
    for (const auto* column : {&parents_, &functions_, &leaf_of_})
      for (const std::uint32_t value : *column) AddNumber(value, out);
  }

 private:
  std::uint32_t Function(const v1::Frame& frame, const FrameStyle& style) {
    const auto next = static_cast<std::uint32_t>(names_.size());
    const auto [known, added] = by_name_.try_emplace(FrameName(frame, style), next);
    if (added) {
      names_.push_back(known->first);
      modules_.push_back(frame.kind() == v1::FRAME_PYTHON ? "" : ModuleText(frame));
      kinds_.push_back(KindOf(frame.kind()));
    }
    return known->second;
  }
  std::uint32_t Node(std::uint32_t parent, std::uint32_t function) {
    const auto next = static_cast<std::uint32_t>(parents_.size());
    const auto [known, added] = children_.try_emplace(std::uint64_t{parent} << 32 | function, next);
    if (added) {
      parents_.push_back(parent);
      functions_.push_back(function);
    }
    return known->second;
  }

  const ShownStacks shown_;
  std::vector<std::uint32_t> node_of_;  // by node of the profile
  std::vector<std::uint32_t> parents_{0};
  std::vector<std::uint32_t> functions_{0};
  std::vector<std::uint32_t> leaf_of_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<std::string> names_;
  std::vector<std::string> modules_;
  std::vector<int> kinds_;
};

// Of `report --by`: those of samples, and the labels that there are.
std::vector<ReportKeyRef> KeysOf(const v1::Profile& profile, bool steps) {
  std::vector<ReportKeyRef> keys;
  const bool whom = profile.samples().path_size() != 0;
  for (const ReportKey& key : ReportKeys())
    if (!key.OfFrames() && (steps || !key.by_steps) && (key.name != "on-whom" || whom))
      keys.push_back(ParseReportKeys(key.name)->front());
  std::set<std::string> labels;
  for (const v1::LabelSet& set : profile.label_sets())
    for (const v1::Label& label : set.labels())
      if (labels.size() < kMostLabels) labels.insert(label.name());
  for (const std::string& label : labels)
    if (auto parsed = ParseReportKeys("label:" + label); parsed && parsed->size() == 1)
      keys.push_back(parsed->front());
  return keys;
}

// The values of one axis. Where all samples of a part have one value, that is all there is to say.
class AxisColumn {
 public:
  void Add(const v1::Profile& profile, int sample, std::uint32_t value) {
    AddNumber(value, bytes_);
    std::optional<std::uint32_t>& of = by_part_[static_cast<std::size_t>(PartOf(profile, sample))];
    follows_part_ = follows_part_ && of.value_or(value) == value;
    of = value;
  }

  [[nodiscard]] bool follows_part() const { return follows_part_; }
  [[nodiscard]] std::vector<std::uint32_t> by_part() const {
    std::vector<std::uint32_t> values;
    values.reserve(by_part_.size());
    for (const auto& value : by_part_) values.push_back(value.value_or(0));
    return values;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::array<std::optional<std::uint32_t>, kParts> by_part_;
  bool follows_part_ = true;
};

// Values of the axis that name no operator: no operator at all, and workers of nothing that is
// known.
json UnnamedValues(const ReportAxis& axis) {
  json values = json::array();
  for (std::uint32_t value = 0; value < axis.names().size(); ++value) {
    const auto& names = axis.operators().names();
    const auto found = std::ranges::find(names, axis.names()[value]);
    if (found == names.end() ||
        !axis.operators().IsNamed(static_cast<std::uint32_t>(found - names.begin())))
      values.push_back(value);
  }
  return values;
}

// Begin and parts of each step, in order of time; null: no steps are known.
json StepsOfPage(const Result<ProgramSteps>& steps, const v1::Profile& profile) {
  if (!steps) return nullptr;
  const StepTable table = StepsOf(*steps, profile);
  const auto shown = std::span(table.steps).first(std::min(table.steps.size(), kMostSteps));
  json begins = json::array();
  json lengths = json::array();
  for (const Step& step : shown) {
    begins.push_back(step.begin_ns - std::min(step.begin_ns, profile.start_ns()));
    lengths.push_back(step.length_ns);
  }
  json parts = json::array({{{"name", "time"}, {"ns", std::move(lengths)}}});
  constexpr std::array<std::pair<const char*, StepTable::CoursePart>, 4> kCourse{
      {{"gap", &GapOf}, {"forward and backward", &WorkOf}, {"tail", &TailOf}, {"data", &DataOf}}};
  for (const auto& [name, of] : kCourse) {
    if (!table.has_courses() || table.courses_estimated) break;
    json all = json::array();
    for (const Step& step : shown) all.push_back(of(step.course.value_or(StepCourse{})));
    parts.push_back({{"name", name}, {"ns", std::move(all)}});
  }
  return {{"count", table.steps.size()},
          {"rough", table.loop.rough()},
          {"median_ns", table.QuantileNs(0.5)},
          {"begin_ns", std::move(begins)},
          {"parts", std::move(parts)}};
}

std::vector<std::string> FactsOf(const v1::Profile& profile) {
  return {FormatDuration(LengthNs(profile)), FormatCount(ThreadCount(profile), "thread"),
          FormatCount(SampleCount(profile), "sample"),
          FormatCount(SumOf(profile.lost()) + SumOf(profile.dropped())) + " lost",
          ClosureText(profile)};
}

// Which hosts of a fleet have not delivered, and why hardware counters that were requested have not
// counted, in the words of the command line.
std::vector<std::string> NotesOf(const v1::Profile& profile) {
  std::vector<std::string> notes;
  for (const v1::NamedCount& count : profile.counters())
    if (count.name() == kFleetWords) notes.push_back(SafeText(count.text()));
  if (profile.has_hardware_counters() && !HasCounts(profile))
    notes.push_back(NoCountsText(profile));
  return notes;
}

void AddCounts(const v1::Samples& samples, std::string& out) {
  for (const auto counter :
       {&Counts::counted_ns, &Counts::cycles, &Counts::instructions, &Counts::cache_misses})
    for (int i = 0; i < samples.weight_ns_size(); ++i)
      AddNumber(CountsAt(samples, i).*counter, out);
}

}  // namespace

std::string PageData(const v1::Profile& profile, const ExportOptions& options) {
  const FrameStyle style{
      .signature = options.signatures, .mangled = options.mangled, .line = false, .inlined = false};
  const MergedStacks stacks(profile, style);
  const auto steps = FindProgramSteps(profile, {});
  const KeyContext context{
      .profile = profile, .style = style, .steps = steps ? &steps->loop : nullptr};
  const v1::Samples& samples = profile.samples();
  const int count = samples.weight_ns_size();

  json axes = json::array();
  std::string columns;
  for (const ReportKeyRef& key : KeysOf(profile, context.steps != nullptr)) {
    ReportAxis axis(*key, context, stacks.shown());
    AxisColumn column;
    for (int i = 0; i < count; ++i) column.Add(profile, i, axis.Of(i));
    const bool always = key->name == "thread" || key->name == "process" || key->name == "state";
    if ((axis.names().size() < 2 && !always) || axis.names().size() > kMostValues) continue;
    json one = {{"key", key->name}, {"plural", key->plural}, {"names", axis.names()}};
    if (key->name == "operator") one["unnamed"] = UnnamedValues(axis);
    if (column.follows_part())
      one["by_part"] = column.by_part();
    else
      columns += column.bytes();
    axes.push_back(std::move(one));
  }

  json parts = json::array();
  for (std::size_t i = 0; i < kParts; ++i) parts.push_back(PartName(static_cast<TimePart>(i)));
  const bool has_times = HasSampleTimes(profile);
  const json head = {
      {"title", options.title.empty() ? TitleOf(profile) : SafeName(options.title)},
      {"facts", FactsOf(profile)},
      {"notes", NotesOf(profile)},
      {"host", SafeName(profile.host())},
      {"begin", profile.start_unix_ns() == 0 ? "" : FormatInstant(profile.start_unix_ns())},
      {"length_ns", LengthNs(profile)},
      {"has_times", has_times},
      {"counted", HasCounts(profile)},
      {"parts", parts},
      {"functions", stacks.Functions()},
      {"nodes", stacks.nodes()},
      {"samples", count},
      {"steps", StepsOfPage(steps, profile)},
      {"axes", axes}};
  const std::string text = head.dump(-1, ' ', false, json::error_handler_t::replace);

  std::string data;
  for (int byte = 0; byte < 4; ++byte) data += static_cast<char>((text.size() >> (8 * byte)) & 255);
  data += text;
  stacks.AddColumns(data);
  std::uint64_t last_ns = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t start_ns = profile.start_ns();
    const std::uint64_t at_ns = has_times ? std::max(samples.time_ns(i), start_ns) - start_ns : 0;
    AddNumber(at_ns >= last_ns ? (at_ns - last_ns) * 2 : (last_ns - at_ns) * 2 - 1, data);
    last_ns = at_ns;
  }
  for (int i = 0; i < count; ++i) AddNumber(samples.weight_ns(i), data);
  for (int i = 0; i < count; ++i) AddNumber(samples.count(i), data);
  for (int i = 0; i < count; ++i) AddNumber(static_cast<std::uint64_t>(PartOf(profile, i)), data);
  for (int i = 0; i < count; ++i) AddNumber(stacks.NodeOf(samples.node(i)), data);
  if (HasCounts(profile)) AddCounts(samples, data);
  return data + columns;
}

}  // namespace profd::client
