// Dump: the state and stack of every thread of a session's target at the end of that session. It is
// immutable once it is built.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/aggregate/labels/label_sets.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/keys.h"
#include "daemon/process/sample.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::aggregate {

struct DumpThread {
  ThreadKey key;
  std::uint32_t shown_tid = 0;
  std::uint32_t process = 0;  // index into processes
  std::string comm;
  process::State state = process::State::kOnCpu;
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint64_t seen_ns = 0;   // when the thread was in this state
  std::uint64_t since_ns = 0;  // when the state began; 0: unknown
  // When the stack was taken; 0: there is none. A running thread has the stack of an on-CPU sample
  // of the same stay on a CPU, which may be before or after seen_ns.
  std::uint64_t stack_ns = 0;
  std::vector<std::uint32_t> frames;  // indices into Dump::frames, leaf first
  std::string no_stack;               // why there is no stack
  std::uint16_t stack_flags = 0;      // PROFD_STACK_*
  // Index of the first of `frames` that was found by frame pointer because no unwind rule was
  // known.
  std::optional<std::uint32_t> uncertain_from;
  std::int32_t syscall = -1;  // of a thread that does not run; -1: none
  std::array<std::uint64_t, 3> syscall_args{};
  bool python = false;                     // the thread has a Python thread state
  process::Gil gil = process::Gil::kNone;  // at seen_ns
  // Index of the thread that holds the mutex, or with kGil the GIL, that it waits for.
  std::optional<std::uint32_t> owner;
  bool merge_failed = false;  // all Python frames come before the native ones
  Labels labels;              // what the thread published when its stack was taken
};

struct Dump {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC: the latest seen_ns of all threads
  std::uint64_t time_unix_ns = 0;
  std::uint64_t took_ns = 0;  // from the first seen_ns to the last
  std::string host;
  std::string kernel;
  std::string profd_version;
  std::vector<ProfileProcess> processes;
  std::vector<DumpThread> threads;  // sorted by process and tid
  std::vector<symbolize::Frame> frames;
  std::uint64_t threads_left_out = 0;  // beyond DumpBuilder's limit
};
using DumpRef = std::shared_ptr<const Dump>;

}  // namespace profd::aggregate
