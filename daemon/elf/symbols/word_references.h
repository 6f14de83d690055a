// WordReferences: to which words of a file's constant data its code and data point.
#pragma once

#include <vector>

#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/symbols/data_words.h"

namespace profd::elf {

// Where an object begins there is a pointer to it, but for objects that nothing uses; two tables
// without a gap are known by that. A flag for each word. The code is not decoded: what looks like a
// reference counts, so more words may have one than the program uses. Nothing when there are more
// than 1 GiB of code. x86-64.
[[nodiscard]] std::vector<bool> FindReferencedWords(const ElfFile& file, const DataWords& words);

}  // namespace profd::elf
