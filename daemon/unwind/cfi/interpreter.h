// Whether a file holds a CPython interpreter.
#pragma once

#include "daemon/elf/file/elf_file.h"

namespace profd::unwind {

// Looks for symbols that CPython exports even where it is stripped, because extension modules need
// them. A program that is linked with no library exports none. In its first 32 MiB of constants
// IsCpython looks for the name of a source file of the interpreter, which its messages contain.
[[nodiscard]] bool IsCpython(const elf::ElfFile& file);

}  // namespace profd::unwind
