#include "daemon/source/probe/pid_namespace.h"

#include <sys/stat.h>

namespace profd::source {
namespace {

constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO

}  // namespace

PidNamespace OwnPidNamespace() {
  struct stat status {};
  if (::stat("/proc/self/ns/pid", &status) != 0) return {};
  return {static_cast<std::uint32_t>(status.st_ino),
          status.st_ino == kInitialPidNamespace ? 0u : 1u};
}

}  // namespace profd::source
