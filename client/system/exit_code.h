// ExitCode: the exit codes of profctl. They are part of its interface: scripts branch on them.
#pragma once

#include "daemon/base/result.h"

namespace profd::client {

enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,
  kUsage = 2,
  kNoData = 3,            // the target was not found, or there was nothing to see of it
  kUnreachable = 4,       // no profd answers, or it went away
  kPermissionDenied = 5,  // a right is missing; the message names it
  kPartial = 6,           // of some hosts only; what is missing was said
  kCannotExecute = 126,   // -- CMD: found but not runnable, as shells have it
  kCommandNotFound = 127,
  kInterrupted = 130,  // given up at the user's wish
};

[[nodiscard]] constexpr int ToInt(ExitCode code) { return static_cast<int>(code); }

[[nodiscard]] ExitCode ExitCodeOf(ErrorCode code);
// The way back, for a private profd that ended with one of the codes above.
[[nodiscard]] ErrorCode ErrorCodeOfExit(int exit_code);
// Of a command that ended with this status of waitpid(2): its own code, 128 + signal if one ended
// it.
[[nodiscard]] int ExitCodeOfWaitStatus(int wait_status);

}  // namespace profd::client
