#include "daemon/source/perf/perf_event.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "daemon/source/probe/capabilities.h"

namespace profd::source {

perf_event_attr MakePerfAttr(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = type;
  attr.config = config;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  return attr;
}

Result<UniqueFd> OpenCpuEvent(perf_event_attr attr, std::uint32_t cpu, const std::string& purpose) {
  UniqueFd fd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC)));
  if (fd.valid()) return fd;
  Error error = ErrorFromErrno(errno, "cannot open the " + purpose);
  switch (errno) {
    case ENODEV:
      error.code = ErrorCode::kNotFound;
      break;
    case ENOENT:
    case EOPNOTSUPP:
      error = Error{ErrorCode::kUnsupported, "this machine has no " + purpose, ""};
      break;
    case EACCES:
    case EPERM:
      error.hint = RightsHint();
      break;
    case EMFILE:
      error.code = ErrorCode::kExhausted;
      error.hint = "raise the limit of open files (ulimit -n): profd needs two per CPU";
      break;
    default:
      break;
  }
  return error;
}

std::uint64_t TimeEnabledNs(const UniqueFd& event) {
  std::array<std::uint64_t, 2> values{};  // count, time enabled
  if (::read(event.get(), values.data(), sizeof(values)) != sizeof(values)) return 0;
  return values[1];
}

}  // namespace profd::source
