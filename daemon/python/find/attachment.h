// Attach: finds threads and frames of a running interpreter in its memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "bpf/shared/python_layout.h"
#include "daemon/base/result.h"
#include "daemon/python/code/layout.h"
#include "daemon/python/code/process_memory.h"
#include "daemon/python/find/runtime_finder.h"
#include "daemon/wire/python_event.h"

namespace profd::python {

// A mapping of the interpreter's code.
struct ModuleMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
};

struct Attachment {
  Layout layout;              // `process` is complete: what the BPF side gets
  std::uint64_t runtime = 0;  // _PyRuntime: no other interpreter of the process has this one
  wire::AddressRange module;
  wire::AddressRange eval;
  wire::AddressRange gil;  // futexes of those who wait for the GIL
  // False: several places hold a thread's state, and only later readings show which one always
  // does. This is the likeliest one. Attach again later.
  bool certain = true;
};

// The message of kUnavailable for programs that have an interpreter and do not use it.
inline constexpr std::string_view kNotInitialised = "the interpreter has not been initialised";

// Reads the interpreters and their threads, within bounds, and finds the place where a thread keeps
// its state, by its value. Errors:
//   kUnavailable  not yet: the interpreter is not initialised, or no thread can be understood now
//   kUnsupported  never, for the reason in the message
//   kNotFound     the process is gone
[[nodiscard]] Result<Attachment> Attach(const ProcessMemory& memory, const RuntimeFile& file,
                                        const ModuleMapping& mapping);

// Reads the memory that walks of the process's threads read, so that it is present: the BPF side
// cannot wait for pages that are not.
void TouchFrames(const ProcessMemory& memory, const Attachment& attachment);

}  // namespace profd::python
