#include "client/profile/report/sample_filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "client/profile/labels/label_values.h"
#include "client/profile/operators/operators.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/filter_text.h"
#include "client/profile/report/frame_places.h"
#include "client/profile/report/report_time.h"
#include "client/profile/stack_names.h"
#include "client/profile/steps/step_loop.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

// Whether any of the names that something has fits.
bool Fits(const FilterNode& node, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    if (node.pattern == nullptr) return name == node.value;
    return RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *node.pattern);
  });
}

bool FitsFrame(const FilterNode& node, const v1::Frame& frame) {
  switch (node.field) {
    case FilterField::kFunction:
      return Fits(node, {FrameName(frame, {.place = false, .suffixes = false}),
                         FrameName(frame, {.line = false, .inlined = false})});
    case FilterField::kModule:
      return Fits(node, {ModuleText(frame), PackageText(frame)});
    default:
      return Fits(node, {FileText(frame), BaseName(frame.file())});
  }
}

// An expression on one profile. What frames and threads say is found out once.
class Judge {
 public:
  Judge(const v1::Profile& profile, const StepLoop* steps, const FilterNode& node)
      : profile_(profile), steps_(steps), node_(node) {
    for (const auto& part : node.parts) parts_.emplace_back(profile, steps, *part);
    if (node.kind != FilterNode::Kind::kCompare) return;
    if (IsOfFrames()) LookAtStacks();
    if (node.field == FilterField::kOperator || node.field == FilterField::kPhase)
      LookAtOperators();
    if (node.field == FilterField::kThread || node.field == FilterField::kProcess) LookAtThreads();
    if (node.field == FilterField::kLabel) LookAtLabels();
  }

  [[nodiscard]] bool Holds(int sample) const {
    switch (node_.kind) {
      case FilterNode::Kind::kAnd:
        return std::ranges::all_of(parts_, [&](const Judge& part) { return part.Holds(sample); });
      case FilterNode::Kind::kOr:
        return std::ranges::any_of(parts_, [&](const Judge& part) { return part.Holds(sample); });
      case FilterNode::Kind::kNot:
        return !parts_.front().Holds(sample);
      default:
        return Compare(sample) != node_.negated;
    }
  }

  [[nodiscard]] static bool Has(const FilterNode& node, FilterField field) {
    return (node.kind == FilterNode::Kind::kCompare && node.field == field) ||
           std::ranges::any_of(node.parts, [=](const auto& part) { return Has(*part, field); });
  }

 private:
  [[nodiscard]] bool IsOfFrames() const {
    return node_.field == FilterField::kFunction || node_.field == FilterField::kModule ||
           node_.field == FilterField::kFile;
  }

  void LookAtStacks() {
    std::vector<bool> frames;
    for (const v1::Frame& frame : profile_.frames()) frames.push_back(FitsFrame(node_, frame));
    known_.push_back(false);
    for (const v1::StackNode& node : profile_.nodes())
      known_.push_back(known_[node.parent()] || frames[node.frame()]);
  }

  void LookAtOperators() {
    const Operators operators(profile_);
    for (int leaf = 0; leaf <= profile_.nodes_size(); ++leaf) {
      const auto node = static_cast<std::uint32_t>(leaf);
      const auto op = operators.OperatorAt(node);
      const std::string_view phase = PhaseName(operators.PhaseAt(node));
      known_.push_back(node_.field == FilterField::kOperator
                           ? op && Fits(node_, {operators.names()[*op]})
                           : !phase.empty() && Fits(node_, {phase}));
    }
  }

  void LookAtThreads() {
    for (const v1::Thread& thread : profile_.threads()) {
      const v1::Process& process = profile_.processes(static_cast<int>(thread.process()));
      known_.push_back(
          node_.field == FilterField::kThread
              ? Fits(node_, {thread.comm(), ThreadName(thread), std::to_string(thread.tid())})
              : Fits(node_, {process.comm(), ProcessName(process), std::to_string(process.pid())}));
    }
  }

  void LookAtLabels() {
    for (std::uint32_t labels = 0; labels <= static_cast<std::uint32_t>(profile_.label_sets_size());
         ++labels) {
      const auto value = LabelIn(profile_, labels, node_.label);
      says_.push_back(value.has_value());
      known_.push_back(value && Fits(node_, {*value}));
    }
    for (const v1::Thread& thread : profile_.threads()) {
      const auto value =
          LabelIn(profile_.processes(static_cast<int>(thread.process())), node_.label);
      thread_has_.push_back(value && Fits(node_, {*value}));
    }
  }

  // What a process is called stands where its thread says nothing itself.
  [[nodiscard]] bool HasLabel(int sample) const {
    const std::uint32_t labels = LabelsOf(profile_, sample);
    return says_[labels] ? known_[labels] : thread_has_[profile_.samples().thread(sample)];
  }

  [[nodiscard]] bool Compare(int sample) const {
    const v1::Samples& samples = profile_.samples();
    switch (node_.field) {
      case FilterField::kThread:
      case FilterField::kProcess:
        return known_[samples.thread(sample)];
      case FilterField::kLabel:
        return HasLabel(sample);
      case FilterField::kState: {
        const TimePart part = PartOf(profile_, sample);
        const bool running = part == TimePart::kWorking || part == TimePart::kSpinning;
        return Fits(node_, {PartName(part)}) || (running && Fits(node_, {"running"}));
      }
      case FilterField::kWait:
        return samples.state(sample) == v1::STATE_BLOCKED &&
               Fits(node_, {WaitName(samples.wait(sample))});
      case FilterField::kTime: {
        const std::uint64_t start = profile_.start_ns();
        const std::uint64_t since = std::max(samples.time_ns(sample), start) - start;
        return since >= node_.from_ns && since < node_.to_ns;
      }
      case FilterField::kStep: {
        const std::uint32_t step = steps_ == nullptr ? 0 : steps_->StepAt(samples.time_ns(sample));
        return step >= node_.first_step && step <= node_.last_step;
      }
      default:
        return known_[samples.node(sample)];
    }
  }

  const v1::Profile& profile_;
  const StepLoop* const steps_;
  const FilterNode& node_;
  std::vector<Judge> parts_;
  std::vector<bool> known_;  // by node, thread or labels of the profile
  // Of kLabel:
  std::vector<bool> says_;        // by labels: whether they have this one
  std::vector<bool> thread_has_;  // by thread: whether the label of its process fits
};

template <typename T>
void Keep(google::protobuf::RepeatedField<T>& column, const std::vector<bool>& keep) {
  int to = 0;
  for (int i = 0; i < column.size(); ++i)
    if (keep[static_cast<std::size_t>(i)]) column[to++] = column[i];
  column.Truncate(to);
}

void KeepSamples(v1::Samples& samples, const std::vector<bool>& keep) {
  Keep(*samples.mutable_time_ns(), keep);
  Keep(*samples.mutable_raw_weight_ns(), keep);
  Keep(*samples.mutable_weight_ns(), keep);
  Keep(*samples.mutable_thread(), keep);
  Keep(*samples.mutable_node(), keep);
  Keep(*samples.mutable_state(), keep);
  Keep(*samples.mutable_wait(), keep);
  Keep(*samples.mutable_count(), keep);
  Keep(*samples.mutable_exact(), keep);
  Keep(*samples.mutable_stack_flags(), keep);
  Keep(*samples.mutable_gil(), keep);
  Keep(*samples.mutable_edges(), keep);
  Keep(*samples.mutable_rule(), keep);
  Keep(*samples.mutable_rule_node(), keep);
  Keep(*samples.mutable_path(), keep);
  Keep(*samples.mutable_labels(), keep);
  Keep(*samples.mutable_cpu(), keep);
  Keep(*samples.mutable_sibling(), keep);
  Keep(*samples.mutable_counted_ns(), keep);
  Keep(*samples.mutable_cycles(), keep);
  Keep(*samples.mutable_instructions(), keep);
  Keep(*samples.mutable_cache_misses(), keep);
}

}  // namespace

Result<SampleFilter> SampleFilter::Parse(std::string_view text) {
  auto root = ParseFilter(text);
  if (!root) return root.error();
  return SampleFilter(std::string(text), *std::move(root));
}

bool SampleFilter::NeedsSteps() const { return Judge::Has(*root_, FilterField::kStep); }

Result<v1::Profile> SampleFilter::Apply(v1::Profile profile, const StepLoop* steps) const {
  if (Judge::Has(*root_, FilterField::kTime) && !HasSampleTimes(profile))
    return Error{ErrorCode::kUnsupported,
                 "--filter: time is not known of each sample: they are sums of one stack",
                 "--from and --to choose a time of the history"};
  std::vector<bool> keep(static_cast<std::size_t>(profile.samples().weight_ns_size()));
  const Judge judge(profile, steps, *root_);
  bool any = false;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    keep[i] = judge.Holds(static_cast<int>(i));
    any = any || keep[i];
  }
  if (!any)
    return Error{ErrorCode::kNotFound, "no data: no sample fits --filter " + SafeName(text_),
                 "without it you see what there is"};
  KeepSamples(*profile.mutable_samples(), keep);
  return profile;
}

}  // namespace profd::client
