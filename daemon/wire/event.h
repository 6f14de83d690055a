// Event: what a RawEvent means. Second hand-off of the pipeline; owns its data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bpf/shared/control.h"
#include "bpf/shared/events.h"
#include "daemon/wire/event_header.h"
#include "daemon/wire/pmu_event.h"
#include "daemon/wire/python_event.h"

namespace profd::wire {

// Where a user frame lay on its stack: its CFA (canonical frame address).
struct FrameCfa {
  std::uint16_t frame = 0;  // index in user_frames
  std::uint64_t cfa = 0;
};

// Where an observer has found a thread (snapshot mode).
struct Observation {
  // Time that stacks of this thread have represented, since it began, because later observers found
  // it unchanged. Between two events of a thread it grows for the stack of the first.
  std::uint64_t held_ns = 0;
  std::uint64_t stack_number = 0;  // of the thread's last stack; 0: none yet
  std::uint32_t registers = 0;     // samples: a hash of the user's registers

  friend bool operator==(const Observation&, const Observation&) = default;
};

enum class SampleOrigin { kOnCpu, kOffCpu, kSnapshot, kWaker };

// A wake-up: the thread of the event ends a wait of another one.
struct WakeUp {
  ThreadKey wakee;
  std::uint64_t begin_ns = 0;          // of the wait; 0: the wakee was on its way to sleep
  std::string comm;                    // of the thread
  bool interrupt = false;              // the event names no thread
  std::uint64_t foreign_sessions = 0;  // bit i: session i may not see the thread

  friend bool operator==(const WakeUp&, const WakeUp&) = default;
};

// One stack of one thread, addresses only.
struct StackEvent {
  EventHeader header;
  SampleOrigin origin = SampleOrigin::kOnCpu;
  std::uint16_t flags = 0;        // PROFD_SAMPLE_*
  std::uint16_t stack_flags = 0;  // PROFD_STACK_*
  std::uint64_t begin_ns = 0;     // off-CPU: when it left the CPU
  std::uint64_t runnable_ns = 0;  // of [begin_ns, time_ns), the last part
  std::uint64_t period_ns = 0;
  std::uint32_t blocked_points = 0;
  std::uint32_t runnable_points = 0;
  std::int32_t syscall = -1;
  std::uint32_t task_state = 0;
  std::array<std::uint64_t, 3> syscall_args{};
  std::uint16_t fd_kind = 0;
  std::uint64_t followed_sessions = 0;  // of header.sessions: the thread is no member of those
  std::uint32_t number = 0;             // off-CPU: of the thread's samples, from 1; 0: not known
  std::optional<WakeUp> wake_up{};      // origin kWaker
  std::uint32_t futex_word = 0;         // kSnapshot, waiting for a futex: what it holds,
  std::uint32_t futex_owner = 0;        // and the word 8 bytes behind it
  // Its sample is one point: begin_ns is just before it, and one of the two counts is 1.
  std::optional<Observation> observation{};
  std::vector<std::uint64_t> kernel_frames;          // leaf first
  std::vector<std::uint64_t> user_frames;            // leaf first; may carry PROFD_FRAME_EXACT
  std::uint64_t missing_stack_bytes = 0;             // of the user stack, above its last frame
  std::uint16_t uncertain_from = PROFD_ALL_CERTAIN;  // index in user_frames
  std::vector<FrameCfa> cfas;                        // ascending by frame
  std::uint16_t python_flags = 0;                    // PROFD_PYTHON_*
  std::vector<PythonFrame> python;                   // leaf first
  // The thread's record (bpf/shared/labels.h), perhaps only its begin; "": it has none.
  std::string labels;
  // kOnCpu: what hardware counters have counted since the thread's last reading.
  std::optional<profd_pmu_counts> counts{};
};

// Migrations by distance.
struct ClockMoves {
  profd_moves at_epoch{};
  profd_moves final{};
};

struct ClockEvent {
  EventHeader header;
  bool end = false;    // THREAD_END, else CLOCK
  bool freed = false;  // an end that was reported before, and lies somewhat later
  std::uint64_t epoch = 0;
  std::uint64_t epoch_ns = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t since_ns = 0;  // 0: not known
  std::optional<Observation> observation{};
  std::uint32_t number = 0;  // not observed: of the thread's last off-CPU sample; 0: none
  profd_thread_state state = PROFD_STATE_ON_CPU;
  profd_clock at_epoch{};
  profd_clock final{};
  std::optional<ClockMoves> moves{};  // nothing: they are not counted
  std::string comm;
  std::uint32_t own_tid = 0;  // as its own pid namespace has it, where that is not ours; else 0
};

struct ForkEvent {
  EventHeader header;  // the child's
  bool new_process = false;
  std::uint32_t parent_pid = 0;
  std::uint32_t parent_tid = 0;
  std::uint64_t parent_process_start_ns = 0;
  std::string comm;
};

struct ExecEvent {
  EventHeader header;
  std::uint32_t old_tid = 0;
  std::string comm;
  std::string path;
};

struct CommEvent {
  EventHeader header;
  std::string comm;
};

struct ExitEvent {
  EventHeader header;
  bool last_thread = false;
  std::uint32_t exit_code = 0;
};

struct MmapEvent {
  EventHeader header;  // start times are 0
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint64_t inode_generation = 0;
  std::uint32_t prot = 0;
  std::string path;
};

// What /proc said, verbatim, indexed by enum profd_process_blob.
struct ProcessEvent {
  EventHeader header;
  std::array<std::string, PROFD_BLOB_MAX> blobs;
};

struct SessionEvent {
  EventHeader header;
  bool end = false;
  std::uint32_t session = 0;
  std::uint32_t mode = PROFD_SESSION_ON_CPU | PROFD_SESSION_OFF_CPU;
  std::uint64_t epoch = 0;
  std::uint64_t epoch_ns = 0;
  std::uint64_t on_cpu_period_ns = 0;
  std::uint64_t off_cpu_period_ns = 0;
  std::uint64_t bpf_cost_ns = 0;
  std::uint64_t own_cpu_ns = 0;
  std::uint32_t hook = 0;
  std::string target;
};

// Nominal periods of samples from now on; 0: none are taken.
struct PeriodsEvent {
  EventHeader header;
  std::uint64_t on_cpu_period_ns = 0;
  std::uint64_t off_cpu_period_ns = 0;
  // Of threads that only background sessions look at.
  std::uint64_t background_on_cpu_period_ns = 0;
  std::uint64_t background_off_cpu_period_ns = 0;
  std::uint64_t point_seed = 0;  // of the sampling points; 0: each thread has had its own
};

// What a process or a user has reported beyond a share of it while a session ran.
struct BeyondShareEvent {
  EventHeader header;  // its process, if it is one's
  profd_share_kind kind = PROFD_SHARE_NAMES;
  std::uint32_t uid = 0;  // if it is a user's
  std::uint64_t count = 0;
};

// Names of the attributes in records of labels, by their numbers; a later event has at least those
// of an earlier one, until the process executes another program.
struct LabelProcessEvent {
  EventHeader header;
  std::vector<std::string> keys;
  std::string reason;  // not empty: why its labels cannot be read
};

// A thread is where a step begins, or a part of one; or where one ends.
struct StepEvent {
  EventHeader header;
  std::uint32_t source = 0;   // number of a StepSourceEvent of its session
  std::uint64_t object = 0;   // that an end ends; 0: what began last ends
  bool end = false;           // it has no name
  bool name_cut = false;      // the name is longer
  bool name_missing = false;  // it could not be read
  std::string name;
};

// What a session watches to see steps, or why it does not.
struct StepSourceEvent {
  EventHeader header;
  std::uint32_t source = 0;
  bool names = false;   // its steps have names
  bool ends = false;    // their ends are reported
  std::string text;     // "uprobe:libfoo.so:work"
  std::string refused;  // why it is not watched; "": it is
};

// A thread is back on the CPU of the header, at time_ns.
struct SwitchEvent {
  EventHeader header;
  std::uint64_t begin_ns = 0;                      // it left
  std::uint64_t runnable_ns = 0;                   // at the end: it waited for a CPU
  profd_thread_state state = PROFD_STATE_BLOCKED;  // in which it left: that or RUNNABLE
  std::uint32_t kind = 0;  // enum profd_blocked or enum profd_runnable, by state
};

// The thread of the header ends a wait of another one.
struct WakeEvent {
  EventHeader header;  // names no thread with `interrupt` or `hidden`
  bool interrupt = false;
  bool hidden = false;         // some session of the event may not see the thread
  std::uint64_t begin_ns = 0;  // of the wait; 0: the other one was on its way to sleep
  ThreadKey wakee;
};

struct CountersEvent {
  EventHeader header;
  std::vector<std::uint64_t> values;  // by enum profd_counter
};

using Event = std::variant<StackEvent, ClockEvent, ForkEvent, ExecEvent, CommEvent, ExitEvent,
                           MmapEvent, ProcessEvent, SessionEvent, CountersEvent, PythonProcessEvent,
                           PythonCodeEvent, PeriodsEvent, BeyondShareEvent, LabelProcessEvent,
                           StepEvent, StepSourceEvent, SwitchEvent, WakeEvent, PmuEvent>;

[[nodiscard]] const EventHeader& HeaderOf(const Event& event);

}  // namespace profd::wire
