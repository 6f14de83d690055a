#include "client/profile/report/report_keys.h"

#include <algorithm>
#include <array>

#include "client/profile/host_names.h"
#include "client/profile/labels/label_values.h"
#include "client/profile/on_whom.h"
#include "client/profile/report/frame_places.h"
#include "client/profile/report/report_time.h"
#include "client/profile/spinning.h"

namespace profd::client {
namespace {

// Numbers of values that are no part of a thread's time, below; the parts come first.
constexpr std::uint64_t kOthers = kParts;

const v1::Frame& FrameAt(const KeyContext& context, std::uint64_t frame) {
  return context.profile.frames(static_cast<int>(frame));
}

std::string FunctionText(const KeyContext& context, std::uint64_t frame) {
  return FrameName(FrameAt(context, frame), context.style);
}

std::uint64_t PartNumber(const KeyContext& context, int sample) {
  return static_cast<std::uint64_t>(PartOf(context.profile, sample));
}

std::string BracketedPart(std::uint64_t part) {
  return "[" + std::string(PartName(static_cast<TimePart>(part))) + "]";
}

std::uint64_t ThreadNumber(const KeyContext& context, int sample) {
  const v1::Profile& profile = context.profile;
  return profile.samples().thread(sample);
}

std::uint64_t ProcessNumber(const KeyContext& context, int sample) {
  const v1::Profile& profile = context.profile;
  return profile.threads(static_cast<int>(profile.samples().thread(sample))).process();
}

// Of a thread on a CPU the class of the rule that decided.
std::uint64_t ClassNumber(const KeyContext& context, int sample) {
  const v1::Profile& profile = context.profile;
  const TimePart part = PartOf(profile, sample);
  if (part != TimePart::kWorking && part != TimePart::kSpinning)
    return static_cast<std::uint64_t>(part);
  const v1::Rule* rule = RuleOf(profile, sample);
  return kOthers + (rule == nullptr ? 0 : static_cast<std::uint64_t>(rule->frame_class()));
}

std::string ClassText(const KeyContext&, std::uint64_t number) {
  if (number < kOthers) return BracketedPart(number);
  const std::string_view name = ClassName(static_cast<v1::FrameClass>(number - kOthers));
  return name.empty() ? "[no rule]" : std::string(name);
}

std::uint64_t WaitNumber(const KeyContext& context, int sample) {
  const v1::Profile& profile = context.profile;
  const TimePart part = PartOf(profile, sample);
  if (part != TimePart::kBlocked) return static_cast<std::uint64_t>(part);
  return kOthers + static_cast<std::uint64_t>(profile.samples().wait(sample));
}

std::string WaitText(const KeyContext&, std::uint64_t number) {
  if (number < kOthers) return BracketedPart(number);
  const std::string_view name = WaitName(static_cast<v1::WaitReason>(number - kOthers));
  return name.empty() ? "[no reason]" : std::string(name);
}

// The path, and the process of the waiter: threads of its own process are called without it.
std::uint64_t WhomNumber(const KeyContext& context, int sample) {
  const v1::Profile& profile = context.profile;
  const TimePart part = PartOf(profile, sample);
  if (part != TimePart::kBlocked) return static_cast<std::uint64_t>(part);
  const std::uint64_t path =
      profile.samples().path_size() == 0 ? 0 : profile.samples().path(sample);
  return (ProcessNumber(context, sample) + 1) << 32 | path;
}

// "engine-worker, runs", "a timer": the end of the path.
std::string WhomText(const KeyContext& context, std::uint64_t number) {
  if (number < kOthers) return BracketedPart(number);
  const auto process = static_cast<int>((number >> 32) - 1);
  const auto path = static_cast<std::uint32_t>(number);
  const auto steps = ShownSteps(context.profile, path, context.profile.processes(process).pid());
  if (steps.empty()) return "[" + std::string(UnknownName(v1::PATH_NONE)) + "]";
  const WhomStep& end = steps.back();
  if (IsUnknown(end.kind)) return "[" + std::string(UnknownName(end.kind)) + "]";
  const bool of_thread =
      end.kind == v1::PATH_RUNS || end.kind == v1::PATH_NO_CPU || end.kind == v1::PATH_WAITS;
  return of_thread ? end.name + ", " + std::string(EndName(end.kind)) : end.name;
}

// 1 + the number of the operator; 0: none.
std::uint64_t OperatorNumber(const KeyContext& context, int sample) {
  const auto op = context.operators->OperatorOf(sample);
  return op ? std::uint64_t{*op} + 1 : 0;
}

std::string OperatorText(const KeyContext& context, std::uint64_t number) {
  return number == 0 ? "[no operator]" : context.operators->names()[number - 1];
}

std::uint64_t PhaseNumber(const KeyContext& context, int sample) {
  return static_cast<std::uint64_t>(context.operators->PhaseOf(sample));
}

std::string PhaseText(const KeyContext&, std::uint64_t number) {
  const std::string_view name = PhaseName(static_cast<v1::Phase>(number));
  return name.empty() ? "[no phase]" : std::string(name);
}

// Of a thread on a CPU; a CPU that is not known is kOthers.
std::uint64_t CpuNumber(const KeyContext& context, int sample) {
  const v1::Profile& profile = context.profile;
  const TimePart part = PartOf(profile, sample);
  if (part != TimePart::kWorking && part != TimePart::kSpinning)
    return static_cast<std::uint64_t>(part);
  return kOthers + (profile.samples().cpu_size() == 0 ? 0 : profile.samples().cpu(sample));
}

std::string CpuText(const KeyContext&, std::uint64_t number) {
  if (number < kOthers) return BracketedPart(number);
  return number == kOthers ? "[no sample]" : "CPU " + std::to_string(number - kOthers - 1);
}

// Of all threads: what others do while one is in a step belongs to that step.
std::uint64_t StepNumber(const KeyContext& context, int sample) {
  const v1::Profile& profile = context.profile;
  return context.steps == nullptr ? 0 : context.steps->StepAt(profile.samples().time_ns(sample));
}

std::string StepText(const KeyContext&, std::uint64_t number) {
  return number == 0 ? "[no whole step]" : std::to_string(number);
}

// Labels of processes, as exports have them.
constexpr std::string_view kService = "service.name";
constexpr std::string_view kVersion = "service.version";
constexpr std::string_view kZone = "cloud.availability_zone";
constexpr std::string_view kNamespace = "k8s.namespace.name";
constexpr std::string_view kPod = "k8s.pod.name";

template <const std::string_view& Label>
std::string OfProcess(const KeyContext& context, std::uint64_t process) {
  const auto& labels = context.profile.processes(static_cast<int>(process)).labels();
  const auto value = labels.find(std::string(Label));
  return value == labels.end() || value->second.empty() ? "[unknown]" : SafeName(value->second);
}

template <std::string (*Text)(const v1::Frame&)>
std::string OfFrame(const KeyContext& context, std::uint64_t frame) {
  return Text(FrameAt(context, frame));
}

constexpr std::array kKeys{
    ReportKey{.name = "function",
              .plural = "functions",
              .help = "functions, of Python with their file",
              .kind = ReportKeyKind::kFrame,
              .text = FunctionText},
    ReportKey{.name = "line",
              .plural = "lines",
              .help = "lines of source files",
              .kind = ReportKeyKind::kFrame,
              .text = OfFrame<LineText>},
    ReportKey{.name = "file",
              .plural = "files",
              .help = "source files",
              .kind = ReportKeyKind::kFrame,
              .text = OfFrame<FileText>},
    ReportKey{.name = "module",
              .plural = "modules",
              .help = "modules of Python, programs and libraries",
              .kind = ReportKeyKind::kFrame,
              .text = OfFrame<ModuleText>},
    ReportKey{.name = "package",
              .plural = "packages",
              .help = "packages of Python, [stdlib], folders of other files; libraries",
              .kind = ReportKeyKind::kFrame,
              .text = OfFrame<PackageText>},
    ReportKey{.name = "caller",
              .plural = "functions with their callers",
              .help = "pairs of functions: f < who calls it",
              .kind = ReportKeyKind::kCaller,
              .text = FunctionText},
    ReportKey{.name = "callee",
              .plural = "functions with what they call",
              .help = "pairs of functions: f > what it calls",
              .kind = ReportKeyKind::kCallee,
              .text = FunctionText},
    ReportKey{.name = "thread",
              .plural = "threads",
              .help = "threads",
              .number = ThreadNumber,
              .text =
                  [](const KeyContext& context, std::uint64_t thread) {
                    const v1::Profile& profile = context.profile;
                    const v1::Thread& one = profile.threads(static_cast<int>(thread));
                    const auto process = static_cast<int>(one.process());
                    return ThreadName(one) + OnHost(profile.processes(process));
                  }},
    ReportKey{.name = "process",
              .plural = "processes",
              .help = "processes",
              .number = ProcessNumber,
              .text =
                  [](const KeyContext& context, std::uint64_t process) {
                    return ProcessName(context.profile.processes(static_cast<int>(process)));
                  }},
    ReportKey{.name = "service",
              .plural = "services",
              .help = "services, of exports and fleets",
              .number = ProcessNumber,
              .text = OfProcess<kService>},
    ReportKey{.name = "version",
              .plural = "versions",
              .help = "versions of services",
              .number = ProcessNumber,
              .text = OfProcess<kVersion>},
    ReportKey{.name = "host",
              .plural = "hosts",
              .help = "hosts, of a profile of several",
              .number = ProcessNumber,
              .text =
                  [](const KeyContext& context, std::uint64_t process) {
                    return HostName(context.profile,
                                    context.profile.processes(static_cast<int>(process)));
                  }},
    ReportKey{.name = "zone",
              .plural = "zones",
              .help = "zones of a fleet",
              .number = ProcessNumber,
              .text = OfProcess<kZone>},
    ReportKey{.name = "namespace",
              .plural = "namespaces",
              .help = "namespaces of Kubernetes",
              .number = ProcessNumber,
              .text = OfProcess<kNamespace>},
    ReportKey{.name = "pod",
              .plural = "pods",
              .help = "pods of Kubernetes",
              .number = ProcessNumber,
              .text = OfProcess<kPod>},
    ReportKey{.name = "class",
              .plural = "classes of the rules",
              .help = "what rules say of time on a CPU: spin, gpu-wait, runtime, copy, work",
              .number = ClassNumber,
              .text = ClassText},
    ReportKey{.name = "operator",
              .plural = "operators",
              .help = "operators of frameworks, by the rules: aten::addmm, BatchNormalization",
              .number = OperatorNumber,
              .text = OperatorText,
              .by_operators = true},
    ReportKey{.name = "phase",
              .plural = "phases",
              .help = "data, forward, backward, optimizer, communication, by the rules",
              .number = PhaseNumber,
              .text = PhaseText,
              .by_operators = true},
    ReportKey{.name = "step",
              .plural = "steps",
              .help = "steps of a training loop by their numbers, as --steps has them; of all "
                      "threads",
              .number = StepNumber,
              .text = StepText,
              .by_steps = true},
    ReportKey{.name = "wait",
              .plural = "reasons of waits",
              .help = "the reasons of waits",
              .number = WaitNumber,
              .text = WaitText},
    ReportKey{.name = "on-whom",
              .plural = "on whom threads wait in the end",
              .help = "where waits end: a thread, a timer, a device",
              .number = WhomNumber,
              .text = WhomText},
    ReportKey{.name = "cpu",
              .plural = "CPUs",
              .help = "the CPUs on which threads run",
              .number = CpuNumber,
              .text = CpuText},
    ReportKey{.name = "state",
              .plural = "states",
              .help = "working, spinning, runnable, blocked, stolen",
              .number = PartNumber,
              .text =
                  [](const KeyContext&, std::uint64_t part) {
                    return std::string(PartName(static_cast<TimePart>(part)));
                  }},
};

// What the thread has published, and its process.
std::uint64_t LabelNumber(const KeyContext& context, int sample) {
  return ProcessNumber(context, sample) << 32 | LabelsOf(context.profile, sample);
}

// What a process is called stands where its thread says nothing itself.
std::string LabelText(const KeyContext& context, std::uint64_t number) {
  const v1::Profile& profile = context.profile;
  if (const auto value = LabelIn(profile, static_cast<std::uint32_t>(number), context.label))
    return SafeName(*value);
  const auto of_process = LabelIn(profile.processes(static_cast<int>(number >> 32)), context.label);
  return of_process ? SafeName(*of_process) : "[no label]";
}

// A key of a label, with the texts that it refers to.
struct LabelKey {
  explicit LabelKey(std::string_view of)
      : label(of), name("label:" + SafeName(of)), plural("values of label " + SafeName(of)) {
    key = {.name = name,
           .plural = plural,
           .help = "",
           .number = LabelNumber,
           .text = LabelText,
           .label = label};
  }

  const std::string label;
  const std::string name;
  const std::string plural;
  ReportKey key;
};

Result<ReportKeyRef> KeyByName(std::string_view name) {
  const auto* found = std::ranges::find(kKeys, name, &ReportKey::name);
  if (found != kKeys.end()) return ReportKeyRef(std::shared_ptr<void>(), found);
  if (const std::string_view label = LabelNamedBy(name); !label.empty()) {
    const auto owned = std::make_shared<const LabelKey>(label);
    return ReportKeyRef(owned, &owned->key);
  }
  std::string names;
  for (const ReportKey& key : kKeys) names += std::string(key.name) + ", ";
  names += "label:NAME";
  return Error{ErrorCode::kInvalidArgument, "--by: no key is called '" + std::string(name) + "'",
               "the keys are " + names};
}

}  // namespace

std::span<const ReportKey> ReportKeys() { return kKeys; }

std::vector<std::string> ReportKeyNames() {
  std::vector<std::string> names;
  names.reserve(kKeys.size());
  for (const ReportKey& key : kKeys) names.emplace_back(key.name);
  return names;
}

Result<std::vector<ReportKeyRef>> ParseReportKeys(std::string_view text) {
  std::vector<ReportKeyRef> keys;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const auto key = KeyByName(text.substr(0, comma));
    if (!key) return key.error();
    keys.push_back(*key);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  if (keys.size() > 2)
    return Error{ErrorCode::kInvalidArgument, "--by: more than two keys are named",
                 "the values of the second one become columns"};
  if (keys.size() == 2 && keys[0]->name == keys[1]->name)
    return Error{ErrorCode::kInvalidArgument,
                 "--by: " + std::string(keys[0]->name) + " is named twice", ""};
  return keys;
}

}  // namespace profd::client
