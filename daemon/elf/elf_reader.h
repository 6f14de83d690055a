// Reads one ELF file into an Object. The only file that knows libelf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/base/result.h"
#include "daemon/elf/elf_headers.h"
#include "daemon/elf/object.h"

namespace profd::elf {

// `fd` is a regular file, open for reading; its contents are as hostile as whoever owns it. Any
// class and byte order. Fails when this is no ELF file, or a damaged one; a file without symbols
// is an Object that says so. Reads headers, notes, one symbol table and its names, nothing else.
[[nodiscard]] Result<ObjectRef> ReadElf(int fd, std::uint64_t file_bytes,
                                        const ElfLimits& limits = {});
// The same from memory.
[[nodiscard]] Result<ObjectRef> ReadElf(std::span<const std::byte> bytes,
                                        const ElfLimits& limits = {});

}  // namespace profd::elf
