// Whether a file holds a CPython interpreter.
#pragma once

#include "daemon/elf/file/elf_file.h"

namespace profd::unwind {

// By the symbols that CPython exports even where it is stripped, as extension modules need them. A
// program that is linked with nothing exports none: it is searched for the name of the
// interpreter's own source file, which its messages hold, in its first 32 MiB of constants.
[[nodiscard]] bool IsCpython(const elf::ElfFile& file);

}  // namespace profd::unwind
