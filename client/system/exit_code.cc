#include "client/system/exit_code.h"

#include <sys/wait.h>

namespace profd::client {

ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return ExitCode::kUsage;
    case ErrorCode::kNotFound:
      return ExitCode::kNoData;
    case ErrorCode::kPermissionDenied:
      return ExitCode::kPermissionDenied;
    case ErrorCode::kUnavailable:
      return ExitCode::kUnreachable;
    case ErrorCode::kUnsupported:
    case ErrorCode::kExhausted:
    case ErrorCode::kIo:
    case ErrorCode::kCorrupt:
    case ErrorCode::kInternal:
      return ExitCode::kFailure;
  }
  return ExitCode::kFailure;
}

ErrorCode ErrorCodeOfExit(int exit_code) {
  switch (exit_code) {
    case ToInt(ExitCode::kUsage):
      return ErrorCode::kInvalidArgument;
    case ToInt(ExitCode::kNoData):
      return ErrorCode::kNotFound;
    case ToInt(ExitCode::kUnreachable):
      return ErrorCode::kUnavailable;
    case ToInt(ExitCode::kPermissionDenied):
      return ErrorCode::kPermissionDenied;
    default:
      return ErrorCode::kInternal;
  }
}

int ExitCodeOfWaitStatus(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return ToInt(ExitCode::kFailure);
}

}  // namespace profd::client
