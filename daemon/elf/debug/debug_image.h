// DebugImage: the sections of a file that say inlined functions and lines, for libdw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/debug/paged_memory.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/debug_sections.h"
#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

struct DebugLimits {
  ElfLimits elf;
  // Up to here sections are read, or unpacked, into memory at once; beyond, what libdw touches is
  // read when it does (PagedMemory), of unpacked sections from a temporary file without a name.
  std::uint64_t eager_bytes = 64u << 20;
  std::uint64_t max_bytes = 4ull << 30;  // unpacked; more is refused
  // Makes such a file; null: large compressed sections are refused.
  std::function<Result<UniqueFd>()> make_temporary{};
};

// An ELF file that profd makes in memory, of well-formed headers and those debugging sections of
// another file that name functions and lines. So libelf and libdw never see the headers of the
// other file, nothing is mapped, and compressed sections are unpacked within bounds. Zeros follow
// each section. Owned by a DwarfFile and used by its thread.
class DebugImage {
 public:
  // The descriptor of `source` must outlive the image. Fails when the file has no debugging
  // information, or damaged one. Takes time in proportion to what is read or unpacked: at most
  // eager_bytes, or, compressed, all.
  [[nodiscard]] static Result<std::unique_ptr<DebugImage>> Create(const FileBytes& source,
                                                                  DebugSections file,
                                                                  const DebugLimits& limits);
  [[nodiscard]] char* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }
  [[nodiscard]] std::size_t resident() const { return memory_.resident(); }
  // Something could not be read, and is zero.
  [[nodiscard]] bool damaged() const { return memory_.damaged(); }
  // False: it is all in memory, and cannot be read again.
  [[nodiscard]] bool paged() const { return memory_.paged(); }
  // Frees what can be read again. No thread may read the image meanwhile.
  void Drop() { memory_.Drop(); }

 private:
  DebugImage() = default;
  void WriteHeaders(const DebugSections& file);
  [[nodiscard]] Result<void> FillEagerly(const ByteSource& source, const DebugSections& file);
  [[nodiscard]] Result<void> MapLazily(const FileBytes& source, const DebugSections& file,
                                       std::size_t bytes, const DebugLimits& limits);
  [[nodiscard]] Result<void> UnpackToFile(const ByteSource& source, const DebugSection& section,
                                          const DebugLimits& limits);

  std::vector<std::size_t> places_;  // of the sections
  UniqueFd unpacked_;                // what was compressed in a large file
  std::uint64_t unpacked_bytes_ = 0;
  PagedMemory memory_;
};

}  // namespace profd::elf
