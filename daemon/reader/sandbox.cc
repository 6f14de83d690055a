#include "daemon/reader/sandbox.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <span>
#include <string>

#include "daemon/base/rights/own_capabilities.h"

namespace profd::reader {
namespace {

constexpr uid_t kOverflowId = 65'534;

constexpr std::uint64_t Bit(unsigned capability) { return std::uint64_t{1} << capability; }

constexpr std::uint64_t kOpenerCapabilities =
    Bit(CAP_SYS_PTRACE) | Bit(CAP_PERFMON) | Bit(CAP_DAC_READ_SEARCH) |
    Bit(CAP_CHECKPOINT_RESTORE) | Bit(CAP_SYS_ADMIN) | Bit(CAP_SETUID) | Bit(CAP_SETGID);

Result<void> SetLimit(__rlimit_resource resource, std::uint64_t value) {
  const rlimit limit{value, value};
  if (value != 0 && ::setrlimit(resource, &limit) != 0)
    return ErrorFromErrno(errno, "cannot limit a reader process");
  return {};
}

// Sanitizers reserve terabytes for their shadow, and try through a pipe whether memory is there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

Result<void> SetLimits(const Limits& limits) {
  if (!kSanitized) PROFD_TRY(SetLimit(RLIMIT_AS, limits.address_space_bytes));
  PROFD_TRY(SetLimit(RLIMIT_CPU, limits.cpu_seconds));
  PROFD_TRY(SetLimit(RLIMIT_FSIZE, limits.file_bytes));
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0)
    return ErrorFromErrno(errno, "cannot limit a reader process");
  return {};
}

// The kernel forgets this at each change of user.
void EndWithParent() { (void)::prctl(PR_SET_PDEATHSIG, SIGKILL); }

// From here on no program that it might execute, and no call of its own, gives it more rights.
Result<void> GainNoRights() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return ErrorFromErrno(errno, "cannot drop rights");
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return {};
}

struct ReleaseFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, ReleaseFilter>;

// A call that no rule allows ends the process, with SIGSYS.
Result<Filter> MakeFilter(std::span<const int> allowed) {
  Filter filter(::seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (filter == nullptr)
    return Error{ErrorCode::kExhausted, "no memory for a list of system calls", ""};
  for (const int call : allowed)
    if (::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0) != 0)
      return Error{ErrorCode::kInternal, "cannot allow system call " + std::to_string(call), ""};
  return filter;
}

// Allows a call if its argument, masked, has a value.
Result<void> AllowIf(const Filter& filter, int call, unsigned argument, std::uint64_t mask,
                     std::uint64_t value) {
  const scmp_arg_cmp condition{argument, SCMP_CMP_MASKED_EQ, mask, value};
  if (::seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, 1, &condition) != 0)
    return Error{ErrorCode::kInternal, "cannot allow system call " + std::to_string(call), ""};
  return {};
}

// The call fails.
Result<void> Refuse(const Filter& filter, int call, int error) {
  if (::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(error), call, 0) != 0)
    return Error{ErrorCode::kInternal, "cannot refuse system call " + std::to_string(call), ""};
  return {};
}

Result<void> Load(const Filter& filter) {
  if (const int error = ::seccomp_load(filter.get()); error != 0)
    return ErrorFromErrno(-error, "cannot restrict the system calls of a reader process");
  return {};
}

// What both kinds need: memory, time, what is open already, and to end.
constexpr std::array kCommonCalls{
    SCMP_SYS(read),           SCMP_SYS(pread64),      SCMP_SYS(write),
    SCMP_SYS(writev),         SCMP_SYS(lseek),        SCMP_SYS(close),
    SCMP_SYS(fstat),          SCMP_SYS(newfstatat),   SCMP_SYS(fcntl),
    SCMP_SYS(recvmsg),        SCMP_SYS(sendmsg),      SCMP_SYS(poll),
    SCMP_SYS(ppoll),          SCMP_SYS(munmap),       SCMP_SYS(mremap),
    SCMP_SYS(madvise),        SCMP_SYS(brk),          SCMP_SYS(futex),
    SCMP_SYS(clock_gettime),  SCMP_SYS(gettimeofday), SCMP_SYS(getpid),
    SCMP_SYS(geteuid),        SCMP_SYS(getegid),      SCMP_SYS(gettid),
    SCMP_SYS(getrandom),      SCMP_SYS(sched_yield),  SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(exit),           SCMP_SYS(exit_group),   SCMP_SYS(restart_syscall)};

// A thread of its own (it serves userfaultfd), and bounds on itself.
constexpr std::array kParserCalls{
    SCMP_SYS(readv),           SCMP_SYS(preadv),          SCMP_SYS(userfaultfd),
    SCMP_SYS(eventfd2),        SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),       SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getrusage),       SCMP_SYS(sysinfo)};
constexpr std::array<std::uint64_t, 5> kRequests{UFFDIO_API, UFFDIO_REGISTER, UFFDIO_COPY,
                                                 UFFDIO_WAKE, FS_IOC_GETVERSION};

// Libraries try these, and go on without: libdw looks for the path of a file that it was given as a
// descriptor, and for others beside it.
constexpr std::array kFailingParserCalls{SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(readlink),
                                         SCMP_SYS(readlinkat), SCMP_SYS(getcwd)};

constexpr std::array kOpenerCalls{SCMP_SYS(openat),     SCMP_SYS(openat2),   SCMP_SYS(open),
                                  SCMP_SYS(stat),       SCMP_SYS(statfs),    SCMP_SYS(fstatfs),
                                  SCMP_SYS(faccessat2), SCMP_SYS(readlink),  SCMP_SYS(readlinkat),
                                  SCMP_SYS(fgetxattr),  SCMP_SYS(getxattr),  SCMP_SYS(setfsuid),
                                  SCMP_SYS(setfsgid),   SCMP_SYS(setgroups), SCMP_SYS(capget),
                                  SCMP_SYS(capset),     SCMP_SYS(getdents64)};

// Rules that both kinds share: memory that is never executable, signals only to itself.
Result<Filter> CommonFilter(std::span<const int> more) {
  auto filter = MakeFilter(kCommonCalls);
  if (!filter) return filter;
  for (const int call : more)
    if (::seccomp_rule_add(filter->get(), SCMP_ACT_ALLOW, call, 0) != 0)
      return Error{ErrorCode::kInternal, "cannot allow system call " + std::to_string(call), ""};
  if (kSanitized) PROFD_TRY(AllowIf(*filter, SCMP_SYS(pipe2), 1, ~std::uint64_t{0}, 0));
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(mmap), 2, PROT_EXEC, 0));
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(mprotect), 2, PROT_EXEC, 0));
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(prctl), 0, ~std::uint64_t{0}, PR_SET_PDEATHSIG));
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(prctl), 0, ~std::uint64_t{0}, PR_SET_NAME));
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(tgkill), 0, ~std::uint64_t{0},
                    static_cast<std::uint64_t>(::getpid())));
  return filter;
}

Result<void> RestrictParser(const Limits& limits) {
  const auto filter = CommonFilter(kParserCalls);
  if (!filter) return filter.error();
  if (limits.runs_programs) {
    for (const auto command : {BPF_PROG_TEST_RUN, BPF_ITER_CREATE, BPF_MAP_UPDATE_ELEM})
      PROFD_TRY(AllowIf(*filter, SCMP_SYS(bpf), 0, ~std::uint64_t{0}, command));
    PROFD_TRY(AllowIf(*filter, SCMP_SYS(sched_setaffinity), 0, ~std::uint64_t{0}, 0));
    PROFD_TRY(AllowIf(*filter, SCMP_SYS(prctl), 0, ~std::uint64_t{0}, PR_SET_TIMERSLACK));
  }
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD));
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(prlimit64), 0, ~std::uint64_t{0}, 0));
  for (const auto request : kRequests)
    PROFD_TRY(AllowIf(*filter, SCMP_SYS(ioctl), 1, ~std::uint64_t{0}, request));
  // Its arguments are in memory, where a filter cannot see them: the C library then uses clone.
  PROFD_TRY(Refuse(*filter, SCMP_SYS(clone3), ENOSYS));
  for (const int call : kFailingParserCalls) PROFD_TRY(Refuse(*filter, call, EACCES));
  return Load(*filter);
}

Result<void> RestrictOpener(const Limits& limits) {
  const auto filter = CommonFilter(kOpenerCalls);
  if (!filter) return filter.error();
  PROFD_TRY(AllowIf(*filter, SCMP_SYS(ioctl), 1, ~std::uint64_t{0}, kProcmapQuery));
  if (limits.attaches_programs) {
    PROFD_TRY(AllowIf(*filter, SCMP_SYS(bpf), 0, ~std::uint64_t{0}, BPF_LINK_CREATE));
    if (::seccomp_rule_add(filter->get(), SCMP_ACT_ALLOW, SCMP_SYS(perf_event_open), 0) != 0)
      return Error{ErrorCode::kInternal, "cannot allow perf events", ""};
  }
  return Load(*filter);
}

}  // namespace

Result<void> EnterParserSandbox(const Limits& limits) {
  PROFD_TRY(SetLimits(limits));
  PROFD_TRY(GainNoRights());
  // Root without capabilities still owns the files of root. Group first: later it may not.
  if (MayChangeUser()) {
    if (::syscall(SYS_setgroups, 0, nullptr) != 0 ||
        ::syscall(SYS_setresgid, kOverflowId, kOverflowId, kOverflowId) != 0 ||
        ::syscall(SYS_setresuid, kOverflowId, kOverflowId, kOverflowId) != 0)
      return ErrorFromErrno(errno, "cannot become another user");
  }
  PROFD_TRY(SetOwnCapabilities({}));
  EndWithParent();
  return RestrictParser(limits);
}

Result<void> EnterOpenerSandbox(const Limits& limits) {
  PROFD_TRY(SetLimits(limits));
  PROFD_TRY(GainNoRights());
  const auto own = OwnCapabilities();
  if (!own) return own.error();
  const std::uint64_t kept =
      own->permitted &
      (kOpenerCapabilities | (limits.attaches_programs ? Bit(CAP_BPF) : std::uint64_t{0}));
  PROFD_TRY(SetOwnCapabilities({kept, kept}));
  EndWithParent();
  return RestrictOpener(limits);
}

bool MayChangeUser() {
  const auto own = OwnCapabilities();
  constexpr std::uint64_t kNeeded = Bit(CAP_SETUID) | Bit(CAP_SETGID);
  return own && (own->effective & kNeeded) == kNeeded;
}

WithoutFileCapabilities::WithoutFileCapabilities() {
  const auto own = OwnCapabilities();
  if (!own) return;
  effective_ = own->effective;
  (void)SetOwnCapabilities(
      {effective_ & ~(Bit(CAP_DAC_READ_SEARCH) | Bit(CAP_DAC_OVERRIDE)), own->permitted});
}

WithoutFileCapabilities::~WithoutFileCapabilities() {
  const auto own = OwnCapabilities();
  if (own) (void)SetOwnCapabilities({effective_, own->permitted});
}

}  // namespace profd::reader
