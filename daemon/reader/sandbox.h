// Sandbox: what a reader process drops before it sees the first byte of a target.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"

namespace profd::reader {

// The request by which an opener asks for one mapping of a process: PROCMAP_QUERY of Linux 6.11,
// which Debian 12's headers do not have.
inline constexpr std::uint64_t kProcmapQuery = 0xc0686611;

// Bounds of one process, enforced by the kernel.
struct Limits {
  std::uint64_t address_space_bytes = 0;  // RLIMIT_AS; reserved and not only used memory counts
  std::uint64_t cpu_seconds = 0;          // RLIMIT_CPU, for all its requests; then it is replaced
  std::uint64_t file_bytes = 0;           // RLIMIT_FSIZE, of each temporary file
  // It may run loaded BPF programs, read iterators and write maps whose descriptors it gets, and
  // choose its CPU.
  bool runs_programs = false;
  // Of an opener: it may attach a loaded BPF program to a function in a file.
  bool attaches_programs = false;
};

// For processes that parse what targets wrote. Gives up all capabilities, for good, the user root
// where that is allowed, and all system calls but those that computing, memory and its open
// descriptors need: no new file, no network, no process, no signal to another one. A call beyond
// the list kills the process.
[[nodiscard]] Result<void> EnterParserSandbox(const Limits& limits);

// For processes that open files for parsers. They keep the capabilities that opening needs, if
// profd has them (CAP_SYS_PTRACE, CAP_PERFMON for maps on new kernels, CAP_DAC_READ_SEARCH,
// CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN on kernels without it, CAP_SETUID and CAP_SETGID), and
// calls that open, inspect and hand over files.
[[nodiscard]] Result<void> EnterOpenerSandbox(const Limits& limits);

// Permitted and not yet dropped: CAP_SETUID and CAP_SETGID.
[[nodiscard]] bool MayChangeUser();

// While it lives, the calling thread opens files with the rights of its user alone:
// CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are not effective.
class WithoutFileCapabilities {
 public:
  WithoutFileCapabilities();
  WithoutFileCapabilities(const WithoutFileCapabilities&) = delete;
  WithoutFileCapabilities& operator=(const WithoutFileCapabilities&) = delete;
  ~WithoutFileCapabilities();

 private:
  std::uint64_t effective_ = 0;
};

}  // namespace profd::reader
