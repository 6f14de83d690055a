// FindRuntime: whether a file holds a CPython interpreter, by its content, and where its parts lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"

namespace profd::python {

// Addresses are the file's own. Immutable once made.
struct RuntimeFile {
  std::uint64_t runtime = 0;     // _PyRuntime
  std::uint64_t eval_begin = 0;  // _PyEval_EvalFrameDefault; 0, 0: not known
  std::uint64_t eval_end = 0;
  std::uint32_t version = 0;  // as PY_VERSION_HEX; 0: only a running process has it
  std::string refused;        // not empty: why it is not understood
  struct Segment {
    std::uint64_t file_offset = 0;
    std::uint64_t vaddr = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Segment> segments;  // PT_LOAD, executable

  // What to add to addresses of the file, where its `file_offset` is mapped at `begin`.
  [[nodiscard]] std::optional<std::uint64_t> BiasOf(std::uint64_t begin,
                                                    std::uint64_t file_offset) const;
};

// The file is as hostile as its owner. kNotFound: it holds no interpreter. Looks at exported names
// first, so that most files cost a few reads; then, in files that export nothing or little, at
// sections and .symtab, within bounds.
[[nodiscard]] Result<RuntimeFile> FindRuntime(const elf::ByteSource& source);

}  // namespace profd::python
