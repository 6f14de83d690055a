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
    case PROFD_EVENT_WAKER:
      return "waker";
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
    case PROFD_EVENT_BEYOND_SHARE:
      return "beyond share";
    case PROFD_EVENT_LABEL_PROCESS:
      return "label process";
    case PROFD_EVENT_STEP:
      return "step";
    case PROFD_EVENT_SWITCH:
      return "switch";
    case PROFD_EVENT_WAKE:
      return "wake";
    case PROFD_EVENT_PMU:
      return "hardware counts";
    case PROFD_EVENT_STEP_SOURCE:
      return "step source";
    default:
      return "unknown";
  }
}

const char* Consequence(profd_share_kind kind) {
  switch (kind) {
    case PROFD_SHARE_NAMES:
      return "renames threads too often; names in between are left out";
    case PROFD_SHARE_THREADS:
      return "makes threads too often; short ones are left out";
    case PROFD_SHARE_PROCESSES:
      return "starts processes too often; short ones are left out";
    case PROFD_SHARE_WAITS:
      return "waits often: one sample stands for several";
    case PROFD_SHARE_MAPPINGS:
      return "maps files too often; is read once a second";
    case PROFD_SHARE_JIT_CODE:
      return "lists code made at run time too fast; the lists are read once a second";
    case PROFD_SHARE_JIT_CODE_OF_USER:
      return "processes list code made at run time too fast; new code has its names later";
    case PROFD_SHARE_PYTHON_CODE:
      return "makes Python code too often; some of it has no names";
    case PROFD_SHARE_PYTHON_CODE_OF_USER:
      return "processes make Python code too often; some of it has no names";
    case PROFD_SHARE_PYTHON_SEARCHES:
      return "starts programs too often; some are searched for Python later";
    case PROFD_SHARE_DEBUG_FILES:
      return "runs too many builds; debug files of some are downloaded later";
    case PROFD_SHARE_STACKS:
      return "its memory does not answer; its blocked threads have no user stacks";
    case PROFD_SHARE_STACKS_OF_USER:
      return "memory of several processes does not answer; blocked threads have no user stacks";
    case PROFD_SHARE_STEPS:
      return "comes to where steps begin too often; some are left out";
    case PROFD_SHARE_SWITCHES:
      return "switches too often for --switches; some are left out";
    case PROFD_SHARE_KINDS:
      break;
  }
  return "reports too much";
}

bool IsOfUser(profd_share_kind kind) {
  return kind == PROFD_SHARE_PROCESSES || kind == PROFD_SHARE_JIT_CODE_OF_USER ||
         kind == PROFD_SHARE_PYTHON_CODE_OF_USER || kind == PROFD_SHARE_PYTHON_SEARCHES ||
         kind == PROFD_SHARE_DEBUG_FILES || kind == PROFD_SHARE_STACKS_OF_USER;
}

}  // namespace profd::wire
