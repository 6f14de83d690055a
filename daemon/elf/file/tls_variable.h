// TlsVariable: where each thread has a thread-local variable that an ELF file exports.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

// As the file was linked to access it. The rest is known once the file is loaded: the loader writes
// it into words of the file's memory. Source: "ELF Handling For Thread-Local Storage" (U. Drepper).
struct TlsVariable {
  enum class Access : std::uint8_t {
    kFixed,       // it lies `offset` bytes from the thread pointer
    kOffsetWord,  // the word at `vaddr` has that offset
    kIndexWords,  // the words at `vaddr` have the number of the module, and the offset in its block
    kDescriptor,  // the second word at `vaddr` has the offset from the thread pointer, which is
                  // negative, or the address of such two words
  };
  Access access = Access::kFixed;
  std::int64_t offset = 0;
  std::uint64_t vaddr = 0;  // an address of the file
};

// The file is as hostile as its owner; reads its symbol's few bytes and, only where the symbol is,
// its dynamic relocations within the limits. kNotFound: it does not define `name` as such a
// variable. kUnsupported: it does, and no relocation says where.
[[nodiscard]] Result<TlsVariable> FindTlsVariable(const ElfFile& file, std::string_view name);

}  // namespace profd::elf
