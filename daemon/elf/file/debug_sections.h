// Finds the debugging sections of an ELF file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

enum class Packing : std::uint8_t { kNone, kZlib, kZstd };

struct DebugSection {
  std::string name;          // ".debug_info"; of ".zdebug_info" too
  std::uint64_t offset = 0;  // in the file, of the payload
  std::uint64_t bytes = 0;   // there
  Packing packing = Packing::kNone;
  std::uint64_t unpacked = 0;  // bytes, as the file claims
};

struct DebugSections {
  std::vector<DebugSection> sections;  // those that say functions and lines; none is empty
  bool big_endian = false;
  std::uint16_t machine = 0;
};

// Every section lies inside the file. Fails when the headers are damaged.
[[nodiscard]] Result<DebugSections> FindDebugSections(const ByteSource& source,
                                                      const ElfLimits& limits);

}  // namespace profd::elf
