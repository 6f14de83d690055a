// Dump: what every thread of a session's target did at its end. Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  std::uint64_t seen_ns = 0;   // when it was in this state
  std::uint64_t since_ns = 0;  // when that began; 0: not known
  // When its stack was taken; 0: there is none. Of a thread that runs: by an on-CPU sample of the
  // time on a CPU in which it was seen, which may be before or after seen_ns.
  std::uint64_t stack_ns = 0;
  std::vector<std::uint32_t> frames;  // indices into Dump::frames, leaf first
  std::string no_stack;               // why there is none
  std::uint16_t stack_flags = 0;      // PROFD_STACK_*
  // Of the first of `frames` that was found by frame pointer where no unwind rule was known.
  std::optional<std::uint32_t> uncertain_from;
  std::int32_t syscall = -1;  // where it does not run; -1: in none
  std::array<std::uint64_t, 3> syscall_args{};
  bool python = false;                     // it has a Python thread state
  process::Gil gil = process::Gil::kNone;  // as of seen_ns
  bool merge_failed = false;               // Python frames stand above the native ones
};

struct Dump {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC: the latest look at a thread
  std::uint64_t time_unix_ns = 0;
  std::uint64_t took_ns = 0;  // from the first look to the last
  std::string host;
  std::string kernel;
  std::string profd_version;
  std::vector<ProfileProcess> processes;
  std::vector<DumpThread> threads;  // by process and tid
  std::vector<symbolize::Frame> frames;
  std::uint64_t threads_left_out = 0;  // beyond the bound
};
using DumpRef = std::shared_ptr<const Dump>;

}  // namespace profd::aggregate
