#include "daemon/source/observe/observer_parser.h"

#include <bpf/bpf.h>
#include <sched.h>
#include <sys/prctl.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/own_usage.h"
#include "daemon/reader/message.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/observe/pass_points.h"

namespace profd::source {
namespace {

Result<void> RunOn(std::uint32_t cpu) {
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) return Error{ErrorCode::kExhausted, "no memory for a set of CPUs", ""};
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const int failed = ::sched_setaffinity(0, bytes, set);
  const int error = errno;
  CPU_FREE(set);
  if (failed != 0) return ErrorFromErrno(error, "cannot run on CPU " + std::to_string(cpu));
  return {};
}

void SleepUntil(std::uint64_t time_ns) {
  const timespec until{static_cast<time_t>(time_ns / 1'000'000'000),
                       static_cast<long>(time_ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

Result<void> RunProgram(int program_fd, profd_pass& pass) {
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &pass, .ctx_size_in = sizeof pass);
  if (::bpf_prog_test_run_opts(program_fd, &options) != 0)
    return ErrorFromErrno(errno, "cannot run an observer");
  return {};
}

Result<void> RunIterator(int link_fd, int passes_fd, const profd_pass& pass) {
  if (::bpf_map_update_elem(passes_fd, &pass.stream, &pass, BPF_ANY) != 0)
    return ErrorFromErrno(errno, "cannot request a pass");
  const auto nothing = ReadIterator(link_fd);  // its program writes no bytes
  return nothing ? Result<void>() : nothing.error();
}

// `fds` as BpfObjects::observer_fds has them.
Result<void> Run(const std::vector<UniqueFd>& fds, profd_pass& pass) {
  if (fds.size() == 1) return RunProgram(fds.front().get(), pass);
  return RunIterator(fds.front().get(), fds.back().get(), pass);
}

}  // namespace

Result<std::string> ObserverParser::Answer(std::string_view request,
                                           reader::ParserContext context) {
  reader::Unpacker fields(request);
  const auto wanted = fields.Plain<ObserveRequest>();
  if (!fields.done() || context.descriptors.empty() || context.descriptors.size() > 2)
    return Error{ErrorCode::kInvalidArgument, "no observer to run", ""};
  PROFD_TRY(RunOn(wanted.cpu));
  // Else timers of this process end together with others of this CPU, up to 50 us late.
  (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  const SystemClock clock;
  const PassPoints points(wanted.stream, wanted.level, wanted.seed);
  const std::uint64_t period_ns = std::uint64_t{1} << wanted.level;
  const std::uint64_t cpu_before_ns = ThreadCpuNs();
  ObserveAnswer answer;
  std::uint64_t point_ns = points.After(wanted.after_ns);
  // At least one: points may be further apart than a request is long.
  do {
    SleepUntil(point_ns);
    const std::uint64_t next_ns = points.After(point_ns);
    // A point whose successor has passed, too, is given up: it would be visited at that one.
    if (clock.MonotonicNs() >= next_ns + period_ns) {
      ++answer.missed;
    } else {
      profd_pass pass = points.PassAt(point_ns);
      pass.cpu = wanted.stream0_cpu;
      PROFD_TRY(Run(context.descriptors, pass));
    }
    answer.last_point_ns = point_ns;
    point_ns = next_ns;
  } while (point_ns < wanted.until_ns);
  answer.cpu_ns = ThreadCpuNs() - cpu_before_ns;
  return reader::Packer().Plain(answer).Take();
}

}  // namespace profd::source
