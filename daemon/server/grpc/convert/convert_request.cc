#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "bpf/shared/limits.h"
#include "daemon/budget/governor.h"
#include "daemon/server/grpc/convert/convert.h"

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
    case v1::Target::KIND_NOT_SET:
      break;
  }
  return Invalid("the target is missing", "name pids, tids, a comm, a cgroup, or all");
}

// A session's own budget: 2 % of a CPU per unit, at the default frequency.
constexpr double kBudgetCpus = 0.02;

double BudgetOf(const v1::CollectRequest& request, std::uint32_t hz, std::uint32_t cpus) {
  if (!(request.budget_cpus() >= 0)) return 0;  // none, and what is not a number
  if (request.budget_cpus() > 0) return request.budget_cpus();
  const double rate = std::max(1.0, static_cast<double>(hz) / kDefaultFrequencyHz);
  return kBudgetCpus * budget::BudgetUnits(cpus) * std::sqrt(rate);
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

  plan.spec.budget_cpus = BudgetOf(request, hz, limits.cpus);

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
    return Invalid("a dump is of processes or threads by their ids", "name pids or tids");
  session::SessionSpec spec;
  spec.target = *std::move(target);
  spec.off_cpu = false;
  spec.on_cpu_period_ns = kNsPerSecond / std::min(kDumpFrequencyHz, limits.max_frequency_hz);
  spec.inlined = !request.no_inlined();
  spec.lines = !request.no_lines();
  spec.dump = true;
  return spec;
}

}  // namespace profd::server
