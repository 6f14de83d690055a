// CodeReader: reads the names and the line table of a code object in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/result.h"
#include "daemon/python/code/layout.h"
#include "daemon/python/code/process_memory.h"
#include "daemon/python/code/type_names.h"

namespace profd::python {

struct CodeText {
  std::int32_t first_line = 0;
  std::string name;
  std::string qualname;  // empty before 3.11
  std::string file;
  std::string lines;  // the line table, as it is
};

// Belongs to one process and is used by one thread. A code object takes some ten reads, about 10
// us. Texts are UTF-8, cut at the bounds.
class CodeReader {
 public:
  static constexpr std::size_t kMaxNameBytes = 4'096;
  static constexpr std::size_t kMaxFileBytes = 4'096;
  static constexpr std::size_t kMaxLinesBytes = 1u << 20;

  CodeReader(ProcessMemory memory, const Layout& layout)
      : memory_(memory), layout_(layout), types_(memory) {}

  // The validator of the code object that lies there now, as the BPF side makes it; nothing
  // when it cannot be read.
  [[nodiscard]] std::optional<std::uint32_t> Validate(std::uint64_t code);
  // The code object must be the one with this validator, before and after it is read. kCorrupt:
  // another one is there, or something else. kNotFound: it cannot be read (any more).
  [[nodiscard]] Result<CodeText> Read(std::uint64_t code, std::uint32_t validator);

 private:
  [[nodiscard]] bool ReadHeader(std::uint64_t code, std::string* header) const;
  [[nodiscard]] std::optional<std::uint32_t> ValidatorOf(const std::string& header) const;
  // These add bytes to the sum as the functions of the same names in bpf/stack/python.bpf.h do.
  [[nodiscard]] bool FoldBytes(std::uint64_t address, std::uint64_t bytes,
                               std::uint64_t* sum) const;
  [[nodiscard]] bool FoldText(std::uint64_t string, std::uint64_t* sum) const;
  [[nodiscard]] bool FoldLines(std::uint64_t lines, std::uint64_t* sum) const;
  [[nodiscard]] Result<std::string> ReadString(std::uint64_t address, std::size_t max_bytes);
  [[nodiscard]] Result<std::string> ReadBytes(std::uint64_t address, std::size_t max_bytes);

  ProcessMemory memory_;
  Layout layout_;
  TypeNames types_;
};

}  // namespace profd::python
