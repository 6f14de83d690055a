#include "daemon/wire/event_names.h"

#include "bpf/shared/events.h"

namespace profd::wire {

const char* KindName(std::uint16_t kind) {
  switch (kind) {
    case PROFD_EVENT_ON_CPU:
      return "on-CPU sample";
    case PROFD_EVENT_OFF_CPU:
      return "off-CPU sample";
    case PROFD_EVENT_THREAD_END:
      return "thread end";
    case PROFD_EVENT_FORK:
      return "fork";
    case PROFD_EVENT_EXEC:
      return "exec";
    case PROFD_EVENT_COMM:
      return "comm";
    case PROFD_EVENT_EXIT:
      return "exit";
    case PROFD_EVENT_CLOCK:
      return "clock";
    case PROFD_EVENT_SNAPSHOT:
      return "snapshot";
    case PROFD_EVENT_MMAP:
      return "mmap";
    case PROFD_EVENT_PROCESS:
      return "process";
    case PROFD_EVENT_SESSION_START:
      return "session start";
    case PROFD_EVENT_SESSION_END:
      return "session end";
    case PROFD_EVENT_COUNTERS:
      return "counters";
    case PROFD_EVENT_PYTHON_PROCESS:
      return "Python process";
    case PROFD_EVENT_PYTHON_CODE:
      return "Python code";
    case PROFD_EVENT_PERIODS:
      return "periods";
    default:
      return "unknown";
  }
}

}  // namespace profd::wire
