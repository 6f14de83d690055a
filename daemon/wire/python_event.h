// What events say of Python. See bpf/shared/python_layout.h.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/wire/event_header.h"

namespace profd::wire {

// One entry of the Python part of a stack: a frame, or an anchor, which ends what one call of the
// eval function runs. See bpf/shared/python_layout.h.
struct PythonFrame {
  std::uint64_t address = 0;  // of the code object; anchor: inside the eval call's C stack frame
  bool anchor = false;
  std::uint32_t validator = 0;
  std::uint32_t instruction = 0;  // or PROFD_PYTHON_NO_INSTRUCTION
  std::uint32_t runtime = 0;      // of the process; below PROFD_MAX_PYTHON_RUNTIMES
};

// Addresses [begin, end); 0, 0: not known.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] bool Contains(std::uint64_t address) const {
    return begin <= address && address < end;
  }
};

// A runtime of a process. `chain` 0: profd does not support it, for a `reason`. An event of the
// first runtime, 0, makes earlier reports of the others invalid.
struct PythonProcessEvent {
  EventHeader header;
  std::uint32_t runtime = 0;  // below PROFD_MAX_PYTHON_RUNTIMES
  std::uint32_t version = 0;  // as PY_VERSION_HEX; 0: not known
  std::uint32_t chain = 0;    // enum profd_python_chain
  AddressRange module;        // mapping of the interpreter's code
  AddressRange eval;          // the eval function
  AddressRange gil;           // futexes inside are waits for the GIL
  std::string reason;
};

// What a code object said; comes before the samples that need it.
struct PythonCodeEvent {
  EventHeader header;
  std::uint32_t runtime = 0;  // of the process
  std::uint64_t code = 0;
  std::uint32_t validator = 0;
  bool stale = false;         // another code object was there by then: nothing below is known
  std::uint32_t version = 0;  // of the interpreter, as PY_VERSION_HEX
  std::int32_t first_line = 0;
  std::string name;
  std::string qualname;  // empty before 3.11
  std::string file;
  std::string lines;  // the line table, as it is
};

}  // namespace profd::wire
