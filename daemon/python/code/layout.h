// Layout: where the fields of one CPython version lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "bpf/shared/python_layout.h"
#include "daemon/base/python_versions.h"
#include "daemon/base/result.h"

namespace profd::python {

// Its entry in the table of versions, of a PY_VERSION_HEX; null when it is not understood.
[[nodiscard]] constexpr const PythonVersion* KnownVersion(std::uint32_t version) {
  return FindPythonVersion(version >> 16);
}
// "3.11.7"; of a release candidate "3.15.0rc2"; "3.8" where no more is known.
[[nodiscard]] std::string VersionText(std::uint32_t version);

// Offsets in bytes, of 64-bit builds with a GIL. Copyable.
struct Layout {
  std::uint32_t version = 0;  // as PY_VERSION_HEX
  // In _PyRuntime.
  std::uint32_t interpreters_head = 0;  // the next word is the main interpreter
  std::uint32_t slot_key = 0;           // Py_tss_t of the always-bound slot; 0: not known
  std::uint32_t runtime_gil = 0;        // struct _gil_runtime_state; 0: interpreters have it
  // In an interpreter.
  std::uint32_t interpreter_next = 0;
  std::uint32_t interpreter_threads = 0;  // the first thread state
  std::uint32_t interpreter_gil = 0;      // the address of its struct _gil_runtime_state
  // In struct _gil_runtime_state.
  std::uint32_t gil_locked = 16;
  std::uint32_t gil_holder = 8;
  // In a thread state.
  std::uint32_t thread_next = 8;
  std::uint32_t thread_interpreter = 16;
  // In a code object; the rest is in `process`.
  std::uint32_t code_file = 0;
  std::uint32_t code_qualname = 0;  // 0: there is none
  std::uint32_t code_first_line = 0;
  std::uint32_t code_lines = 0;     // bytes object: the line table
  std::uint32_t ascii_bytes = 0;    // sizeof(PyASCIIObject)
  std::uint32_t compact_bytes = 0;  // sizeof(PyCompactUnicodeObject)
  // The part that the BPF side needs; the slot and what is about the GIL are those of a process,
  // and 0.
  profd_python_process process{};

  // Bytes from the beginning of a code object that hold all of the above.
  [[nodiscard]] std::size_t CodeHeaderBytes() const;
};

// The same for all versions.
inline constexpr std::uint64_t kObjectType = 8;       // in an object: its type
inline constexpr std::uint64_t kTypeName = 24;        // in a type: its name, a C string
inline constexpr std::uint64_t kObjectLength = 16;    // in a bytes or str object
inline constexpr std::uint64_t kStringState = 32;     // in a str: kind and form
inline constexpr std::uint64_t kBytesData = 32;       // in a bytes object
inline constexpr std::size_t kDebugOffsetWords = 96;  // of _Py_DebugOffsets, read at most

// Of versions without offsets. kUnsupported for others, with the reason.
[[nodiscard]] Result<Layout> LayoutOf(std::uint32_t version);

// Of versions with offsets, from the beginning of _PyRuntime in a process. kUnavailable: it is not
// written yet. kUnsupported: another version, a free-threaded build, or numbers that make no sense.
[[nodiscard]] Result<Layout> LayoutFromOffsets(std::span<const std::uint64_t> words);

}  // namespace profd::python
