// CfiReader: `.eh_frame` and code of one file -> rows of unwind rules by file offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/unwind/cfi/elf_text.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// Ends stacks at the entry point of a file, whose code has no caller: where no rule is known from
// there on, as in glibc's dynamic loader. `rows` reach to `end`.
void EndAtEntry(std::uint64_t entry, std::uint64_t end, std::vector<Row>& rows);

// Interprets through libdw. Of a file with `.eh_frame_hdr` it reads only the entries that a part of
// the text needs. Damaged entries leave gaps, and are counted. Code without unwind information, and
// files without any, get rules from their machine code. Lives in a reader process, which alone uses
// it.
class CfiReader {
 public:
  // Below this a file has some 100,000 rows, which take about 100 ms: read it whole.
  static constexpr std::uint64_t kWholeFileFrameBytes = 650'000;

  // `fd` is a regular file, open for reading; `file_bytes` as fstat said. kNotFound: no tables.
  [[nodiscard]] static Result<CfiReader> Open(UniqueFd fd, std::uint64_t file_bytes);
  // The same from memory, which is copied.
  [[nodiscard]] static Result<CfiReader> FromMemory(std::span<const std::byte> bytes);
  CfiReader(CfiReader&&) noexcept;
  CfiReader& operator=(CfiReader&&) noexcept;
  ~CfiReader();

  [[nodiscard]] const std::vector<TextRange>& text() const;
  [[nodiscard]] bool small() const;  // to be read whole
  // It holds a CPython interpreter.
  [[nodiscard]] bool cpython() const;

  [[nodiscard]] std::string build_id() const;  // lower-case hex; "": it has none

  // Where the kernel, or the loader, begins to run the file, as file offset.
  [[nodiscard]] std::optional<std::uint64_t> entry() const;

  // More code without unwind information in one part is read only when it is requested.
  static constexpr std::uint64_t kMaxUnrequested = 32u << 10;
  // Rows of [begin, end) of the file; the first is at `begin`. `requested`: by a program.
  [[nodiscard]] PartRows ReadRows(std::uint64_t begin, std::uint64_t end, bool requested = true);
  // Functions without unwind information that reach into [begin, end), addresses of the object.
  [[nodiscard]] std::vector<CodeRange> FindFunctions(std::uint64_t begin, std::uint64_t end);
  // FDEs, or parts of them, that were out of bounds so far.
  [[nodiscard]] std::uint64_t damaged() const;
  // In memory, by an estimate.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  class State;
  explicit CfiReader(std::unique_ptr<State> state);
  [[nodiscard]] static Result<CfiReader> Read(Result<ElfText> text);

  std::unique_ptr<State> state_;
};

}  // namespace profd::unwind
