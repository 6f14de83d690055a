// Attachment: a running interpreter, and how it is found in the memory of its process.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bpf/shared/python_layout.h"
#include "daemon/base/result.h"
#include "daemon/python/code/layout.h"
#include "daemon/python/code/process_memory.h"
#include "daemon/python/find/runtime_finder.h"
#include "daemon/python/find/slot_finder.h"
#include "daemon/wire/python_event.h"

namespace profd::python {

// A mapping of the interpreter's code.
struct ModuleMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
};

// Says which layout a running interpreter has. Numbers of a hostile process, or of a reader
// that one has taken over: LayoutOf checks them.
struct RuntimeVersion {
  std::uint32_t number = 0;            // as PY_VERSION_HEX
  std::vector<std::uint64_t> offsets;  // _Py_DebugOffsets; empty: versions before 3.13
};

// What the memory of the process says of its interpreter.
struct RuntimeState {
  RuntimeVersion version;
  Slot slot;
  std::uint64_t gil = 0;  // struct _gil_runtime_state; 0: not known
};

struct Attachment {
  RuntimeVersion version;     // what `layout` is made of
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
// The same when no memory of the process can be read.
inline constexpr std::string_view kUnreadable = "its memory cannot be read";

// kUnsupported: the version is not understood, or its offsets make no sense.
[[nodiscard]] Result<Layout> LayoutOf(const RuntimeVersion& version);

// Reads the interpreters and their threads, within bounds, and finds the place where a thread keeps
// its state, by its value. In a reader process. Errors:
//   kUnavailable  not yet: the interpreter is not initialised, or no thread can be understood now
//   kUnsupported  never, for the reason in the message
//   kNotFound     the process is gone
[[nodiscard]] Result<RuntimeState> ReadRuntime(const ProcessMemory& memory, const RuntimeFile& file,
                                               const ModuleMapping& mapping);

// kUnavailable: the mapping is none of the file's segments. kUnsupported: as LayoutOf.
[[nodiscard]] Result<Attachment> AttachmentOf(const RuntimeState& state, const RuntimeFile& file,
                                              const ModuleMapping& mapping);

// Reads the memory that walks of the process's threads read, so that it is present: the BPF side
// cannot wait for pages that are not. In a reader process.
void TouchFrames(const ProcessMemory& memory, const Layout& layout, std::uint64_t runtime);

}  // namespace profd::python
