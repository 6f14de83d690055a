#include "daemon/server/grpc/convert/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "bpf/shared/limits.h"
#include "bpf/shared/steps.h"
#include "daemon/budget/cpu/period_controller.h"

namespace profd::server {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint32_t kMaxPid = 4'194'304;  // PID_MAX_LIMIT of the kernel

Error Invalid(std::string message, std::string hint = "") {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

std::string Seconds(std::uint64_t ns) {
  std::string text = std::to_string(static_cast<double>(ns) / kNsPerSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

Result<std::vector<std::uint32_t>> ToIds(const v1::Target::Ids& ids, const std::string& what) {
  if (ids.id().empty()) return Invalid("no " + what + " is given");
  if (ids.id_size() > PROFD_MAX_FILTER_IDS)
    return Invalid(std::to_string(ids.id_size()) + " " + what + "s are more than the " +
                   std::to_string(PROFD_MAX_FILTER_IDS) + " that fit");
  for (const auto id : ids.id())
    if (id == 0 || id > kMaxPid)
      return Invalid(what + " " + std::to_string(id) + " is outside 1 to " +
                     std::to_string(kMaxPid));
  std::vector<std::uint32_t> list(ids.id().begin(), ids.id().end());
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

constexpr int kMaxItems = 1'000;  // of each list
constexpr std::size_t kMaxTextBytes = 4'096;
constexpr std::size_t kMaxTargetLabels = 64;  // they are a part of events

using Texts = google::protobuf::RepeatedPtrField<std::string>;

Result<std::vector<std::string>> ToTexts(const Texts& texts, const char* what) {
  if (texts.size() > kMaxItems)
    return Invalid(std::string("more than ") + std::to_string(kMaxItems) + " names of a " + what);
  for (const std::string& text : texts)
    if (text.size() > kMaxTextBytes)
      return Invalid(std::string("the name of a ") + what + " is longer than " +
                     std::to_string(kMaxTextBytes) + " bytes");
  return std::vector<std::string>(texts.begin(), texts.end());
}

// "lock, gil, ...".
std::string WaitReasonNames() {
  std::string names;
  for (const auto& info : process::kWaitReasons) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

Result<std::vector<store::Filter::Label>> ToLabels(const Texts& proto) {
  const auto texts = ToTexts(proto, "label");
  if (!texts) return texts.error();
  return store::ParseLabels(*texts);
}

// Of a target; as they are written, which is right.
Result<std::vector<std::string>> ToLabelTexts(const Texts& proto) {
  auto texts = ToTexts(proto, "label");
  if (!texts) return texts.error();
  if (texts->empty()) return Invalid("no label is named", "labels read NAME=VALUE");
  if (texts->size() > kMaxTargetLabels)
    return Invalid("more than " + std::to_string(kMaxTargetLabels) + " labels are named",
                   "* and ? stand for any text");
  if (const auto labels = store::ParseLabels(*texts); !labels)
    return Error{labels.error().code, labels.error().message, "as in service.name=cart"};
  return texts;
}

Result<store::Filter> ToFilter(const v1::HistoryFilter& proto) {
  store::Filter filter;
  if (proto.pid_size() > kMaxItems) return Invalid("more than 1000 processes are named");
  filter.pids.assign(proto.pid().begin(), proto.pid().end());
  struct List {
    const Texts& texts;
    const char* what;
    std::vector<std::string>& into;
  };
  for (const List& list :
       {List{proto.comm(), "process", filter.comms},
        List{proto.executable(), "program", filter.executables},
        List{proto.cgroup(), "cgroup", filter.cgroups},
        List{proto.container(), "container", filter.containers},
        List{proto.unit(), "unit", filter.units}, List{proto.user(), "user", filter.users},
        List{proto.thread(), "thread", filter.threads}}) {
    auto texts = ToTexts(list.texts, list.what);
    if (!texts) return texts.error();
    list.into = *std::move(texts);
  }
  auto labels = ToLabels(proto.label());
  if (!labels) return labels.error();
  filter.labels = *std::move(labels);
  if (proto.has_state()) {
    if (!v1::State_IsValid(proto.state())) return Invalid("there is no such state");
    filter.state = static_cast<process::State>(proto.state());
  }
  if (proto.has_wait()) {
    if (!v1::WaitReason_IsValid(proto.wait()))
      return Invalid("there is no such wait reason", "it must be one of " + WaitReasonNames());
    filter.wait = static_cast<process::WaitReason>(proto.wait());
  }
  return filter;
}

}  // namespace

Result<session::Target> ToTarget(const v1::Target& proto) {
  session::Target target;
  target.children = proto.children();
  target.kernel_threads = proto.kernel_threads();
  target.pidns_inode = proto.pidns_inode();
  switch (proto.kind_case()) {
    case v1::Target::kAll:
      if (!proto.all()) return Invalid("the target is empty", "set `all` to true, or name one");
      target.kind = session::TargetKind::kAll;
      return target;
    case v1::Target::kPids:
    case v1::Target::kTids: {
      const bool pids = proto.kind_case() == v1::Target::kPids;
      auto ids = pids ? ToIds(proto.pids(), "pid") : ToIds(proto.tids(), "tid");
      if (!ids) return ids.error();
      target.kind = pids ? session::TargetKind::kPids : session::TargetKind::kTids;
      target.ids = *std::move(ids);
      return target;
    }
    case v1::Target::kComm:
      if (proto.comm().empty() || proto.comm().size() >= PROFD_COMM_LEN)
        return Invalid("comm '" + proto.comm().substr(0, 64) + "' is not of 1 to " +
                           std::to_string(PROFD_COMM_LEN - 1) + " bytes",
                       "the kernel keeps the first 15 bytes of a name: see /proc/PID/comm");
      target.kind = session::TargetKind::kComm;
      target.name = proto.comm();
      return target;
    case v1::Target::kCgroup:
      if (proto.cgroup().empty() || proto.cgroup().front() != '/' || proto.cgroup().size() > 4095)
        return Invalid("cgroup '" + proto.cgroup().substr(0, 64) + "' is not an absolute path",
                       "name a directory of the cgroup v2 hierarchy, as /sys/fs/cgroup/...");
      target.kind = session::TargetKind::kCgroup;
      target.name = proto.cgroup();
      return target;
    case v1::Target::kLabels: {
      auto labels = ToLabelTexts(proto.labels().label());
      if (!labels) return labels.error();
      target.kind = session::TargetKind::kLabels;
      target.labels = *std::move(labels);
      return target;
    }
    case v1::Target::KIND_NOT_SET:
      break;
  }
  return Invalid("the target is missing", "name pids, tids, a comm, a cgroup, labels, or all");
}

// The budget of a session that requests none: 2 % of a CPU per unit, at the default frequency, and
// at least 10 % at first.
constexpr double kBudgetCpus = 0.02;
constexpr double kFirstBudgetCpus = 0.1;

double SessionBudget(const v1::CollectRequest& request, std::uint32_t hz, std::uint32_t cpus) {
  if (!(request.budget_cpus() >= 0)) return 0;  // negative (no budget), and NaN
  if (request.budget_cpus() > 0) return request.budget_cpus();
  const double rate = std::max(1.0, static_cast<double>(hz) / kDefaultFrequencyHz);
  return kBudgetCpus * budget::BudgetUnits(cpus) * std::sqrt(rate);
}

Result<std::vector<session::StepSpec>> ToSteps(const Texts& texts, const session::Target& target) {
  std::vector<session::StepSpec> steps;
  if (texts.empty()) {
    // Without a request PyTorch's own are watched. How many a target of labels is comes out later.
    const bool few = !target.ids.empty() && target.ids.size() <= session::kFewTargets;
    if (few || target.kind == session::TargetKind::kLabels) steps.emplace_back();
    return steps;
  }
  if (texts.size() == 1 && texts[0] == "none") return steps;
  if (texts.size() > PROFD_MAX_STEP_SOURCES)
    return Invalid("more than " + std::to_string(PROFD_MAX_STEP_SOURCES) +
                   " sources of steps are named");
  for (const std::string& text : texts) {
    auto spec = session::ParseStepSpec(text);
    if (!spec) return spec.error();
    steps.push_back(*std::move(spec));
  }
  return steps;
}

Result<CollectPlan> ToPlan(const v1::CollectRequest& request, const RequestLimits& limits) {
  CollectPlan plan;
  auto target = ToTarget(request.target());
  if (!target) return target.error();
  plan.spec.target = *std::move(target);

  plan.duration_ns = request.duration_ns();
  if (plan.duration_ns != 0 &&
      (plan.duration_ns < limits.min_duration_ns || plan.duration_ns > limits.max_duration_ns))
    return Invalid("duration " + Seconds(plan.duration_ns) + " is outside " +
                       Seconds(limits.min_duration_ns) + " to " + Seconds(limits.max_duration_ns),
                   "0 collects until it is stopped");
  if (!request.duration_is_default()) plan.spec.recorded_ns = plan.duration_ns;

  const std::uint32_t hz =
      request.frequency_hz() == 0 ? kDefaultFrequencyHz : request.frequency_hz();
  if (hz > limits.max_frequency_hz)
    return Invalid("frequency " + std::to_string(hz) + " Hz is outside 1 to " +
                       std::to_string(limits.max_frequency_hz) + " Hz",
                   "the limit is the kernel's: see /proc/sys/kernel/perf_event_max_sample_rate");
  plan.spec.on_cpu_period_ns = plan.spec.off_cpu_period_ns = (kNsPerSecond + hz / 2) / hz;

  switch (request.mode()) {
    case v1::MODE_WALL:
      break;
    case v1::MODE_ON_CPU:
      plan.spec.off_cpu = false;
      break;
    case v1::MODE_OFF_CPU:
      plan.spec.on_cpu = false;
      break;
    default:
      return Invalid("mode " + std::to_string(request.mode()) + " is none of wall, on, off");
  }
  if (request.hardware_cycles()) plan.spec.clock = session::OnCpuClock::kHardwareCycles;

  plan.spec.inlined = !request.no_inlined();
  plan.spec.lines = !request.no_lines();

  plan.spec.budget_cpus = SessionBudget(request, hz, limits.cpus);
  if (request.budget_cpus() == 0)
    plan.spec.first_budget_cpus = std::max(kFirstBudgetCpus, plan.spec.budget_cpus);
  plan.spec.observed = request.no_hooks();
  plan.spec.wakers = !request.no_wakers();
  plan.spec.switches = request.switches();
  plan.spec.counters = request.counters();
  auto steps = ToSteps(request.steps(), plan.spec.target);
  if (!steps) return steps.error();
  plan.spec.steps = *std::move(steps);
  plan.spec.steps_of_few = request.steps().empty();

  const std::uint64_t interval_ns =
      request.progress_interval_ns() == 0 ? kDefaultProgressNs : request.progress_interval_ns();
  if (interval_ns < limits.min_progress_ns || interval_ns > limits.max_progress_ns)
    return Invalid("progress interval " + Seconds(interval_ns) + " is outside " +
                   Seconds(limits.min_progress_ns) + " to " + Seconds(limits.max_progress_ns));
  plan.progress_interval = std::chrono::nanoseconds(interval_ns);
  return plan;
}

Result<session::SessionSpec> ToSpec(const v1::DumpRequest& request, const RequestLimits& limits) {
  auto target = ToTarget(request.target());
  if (!target) return target.error();
  if (target->kind != session::TargetKind::kPids && target->kind != session::TargetKind::kTids)
    return Invalid("a dump needs ids of processes or threads", "name pids or tids");
  session::SessionSpec spec;
  spec.target = *std::move(target);
  spec.off_cpu = false;
  spec.on_cpu_period_ns = kNsPerSecond / std::min(kDumpFrequencyHz, limits.max_frequency_hz);
  spec.inlined = !request.no_inlined();
  spec.lines = !request.no_lines();
  spec.dump = true;
  return spec;
}

Result<QueryPlan> ToPlan(const v1::QueryRequest& request, std::uint64_t now_unix_ns) {
  QueryPlan plan;
  if (request.since_ns() != 0) {
    if (request.from_unix_ns() != 0 || request.to_unix_ns() != 0)
      return Invalid("both a span and a begin or an end are named", "leave one out");
    plan.range.from_unix_ns = now_unix_ns - std::min(now_unix_ns, request.since_ns());
  } else {
    plan.range.from_unix_ns = request.from_unix_ns();
    if (request.to_unix_ns() != 0) plan.range.to_unix_ns = request.to_unix_ns();
  }
  if (plan.range.from_unix_ns >= plan.range.to_unix_ns)
    return Invalid("the time range ends before it begins");
  auto filter = ToFilter(request.filter());
  if (!filter) return filter.error();
  plan.filter = *std::move(filter);
  return plan;
}

}  // namespace profd::server
