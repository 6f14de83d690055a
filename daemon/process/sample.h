// Sample: one stack of one thread, whose addresses are resolved to modules. Third hand-off.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/process/process_info.h"
#include "daemon/process/wait_reason.h"
#include "daemon/wire/event.h"

namespace profd::process {

// A file (or the vdso, or the kernel) as it was mapped. Immutable; all frames in it share it.
struct Module {
  // As /proc/PID/maps had it, without " (deleted)"; "[vdso]"; "[kernel]"; "" = anonymous.
  std::string path;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint32_t first_pid = 0;  // a process that maps it: /proc/PID/map_files and /proc/PID/root
  std::uint64_t map_start = 0;  // one mapping of it there, for map_files
  std::uint64_t map_end = 0;
  // When that mapping was first seen there, in ns of CLOCK_MONOTONIC: what is written to the file
  // later is not what the frames ran.
  std::uint64_t mapped_ns = 0;
};
using ModuleRef = std::shared_ptr<const Module>;

enum class State : std::uint8_t { kOnCpu, kRunnable, kBlocked };

// A Python function, as its code object names it. Immutable; its frames share it.
struct PythonFunction {
  std::string name;  // qualified from 3.11 on; "<stale>": the code object was gone when it was read
  std::string file;
};
using PythonFunctionRef = std::shared_ptr<const PythonFunction>;

// The relation of a thread to the GIL of its interpreter.
enum class Gil : std::uint8_t {
  kNone,     // it has no thread state, or its process has no known interpreter
  kUnknown,  // the holder could not be read, or the interpreter is not supported
  kNotHeld,
  kHeld,
  kWaited,  // blocked for it, and then runnable until it runs again
};

// The other CPU of the core on which a thread runs.
enum class Sibling : std::uint8_t {
  kUnknown,  // or the core has one CPU
  kIdle,
  kBusy,
};

// The interpreter of a process. Immutable; its samples share it.
struct PythonInterpreter {
  std::string version;  // "3.12.1"; "": not known
  std::string refused;  // why its frames are not shown; "": they are
};
using PythonInterpreterRef = std::shared_ptr<const PythonInterpreter>;

struct AddressFrame {
  bool kernel = false;
  bool return_address = false;    // not the leaf: its name is that of address - 1
  bool uncertain = false;         // found by frame pointer where no unwind rule was known
  std::uint64_t address = 0;      // as the CPU saw it
  ModuleRef module;               // null: no mapping held this address
  std::uint64_t file_offset = 0;  // within the module's file; where there is none, the address
  std::uint64_t cfa = 0;          // of frames that may be an interpreter's; 0: not kept
  bool interpreter = false;       // code of the interpreter itself, on a stack with Python frames
  // A Python frame: `address` is its code object's, and nothing above but this is set.
  PythonFunctionRef python = nullptr;
  std::uint32_t line = 0;  // of a Python frame; 0: not known
};

struct Sample {
  std::uint64_t time_ns = 0;
  ProcessKey process;
  ThreadKey thread;
  std::uint64_t sessions = 0;
  std::uint32_t cpu = 0;
  Sibling sibling = Sibling::kUnknown;  // on-CPU
  bool snapshot = false;                // the interval is still open at time_ns
  bool background = false;              // PROFD_SAMPLE_BACKGROUND
  std::uint32_t halvings = 0;           // off-CPU: it stands for 2^halvings; period_ns has them
  State state = State::kOnCpu;  // off-CPU samples: kBlocked, or kRunnable if it never blocked
  WaitReason wait = WaitReason::kNone;
  bool woken = false;  // snapshot of a dump: it slept since begin_ns, and waits for a CPU now
  std::int32_t syscall = -1;  // of an off-CPU sample; -1: in none
  std::array<std::uint64_t, 3> syscall_args{};
  std::uint64_t begin_ns = 0;
  std::uint64_t runnable_ns = 0;
  std::uint64_t period_ns = 0;
  std::uint32_t blocked_points = 0;
  std::uint32_t runnable_points = 0;
  std::uint64_t followed_sessions = 0;    // of `sessions`: the thread is no member of those
  std::uint32_t number = 0;               // off-CPU: of the thread's samples; 0: not known
  std::uint32_t futex_word = 0;           // snapshot, waiting for a futex: what it holds,
  std::uint32_t futex_owner = 0;          // and the word 8 bytes behind it
  std::optional<wire::WakeUp> wake_up{};  // the thread ends the wait of another one; state kOnCpu
  std::optional<wire::Observation> observation{};  // off-CPU: an observer has found it so
  std::uint16_t stack_flags = 0;                   // PROFD_STACK_*
  std::uint64_t missing_stack_bytes = 0;           // of the user stack, above its last frame
  std::vector<AddressFrame> frames;                // leaf first, kernel then user
  std::uint16_t python_flags = 0;                  // PROFD_PYTHON_*
  // The same through the whole interval, because only a running thread can change it.
  Gil gil = Gil::kNone;
  PythonInterpreterRef interpreter = nullptr;  // null: no interpreter is known
  // Python frames whose place among the native ones is not certain, leaf first; else they are in
  // `frames`. SampleSymbolizer moves them out; the flag stays.
  std::vector<AddressFrame> unmerged_python;
  bool merge_failed = false;
  std::optional<profd_pmu_counts> counts{};  // on-CPU: of hardware counters
  std::string labels;                        // the thread's record, label_record.h; "": it has none
  LabelKeysRef label_keys = nullptr;         // of its process, at that time; not null with `labels`
};

}  // namespace profd::process
