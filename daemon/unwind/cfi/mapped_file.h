// MappedFile: the file behind one mapping of a process, and what identifies it.
#pragma once

#include <cstdint>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/regular_file.h"

namespace profd::unwind {

struct MappedFile {
  UniqueFd fd;           // a regular file, open for reading
  elf::FileStamp stamp;  // as stat says
  // The mapping shows a file of another file system with another inode number: that of the
  // overlayfs layer that holds the file. stat reports a number of its own, or that of a copied
  // file's original.
  bool overlay = false;
};

// Through /proc/PID/map_files: right for deleted, replaced and hidden files. Where profd may not
// look there, by the path that /proc/PID/maps gives, if the file there is the same. kNotFound: the
// process or the mapping is gone.
[[nodiscard]] Result<MappedFile> OpenMappedFile(const ProcFs& proc, std::uint32_t pid,
                                                std::uint64_t begin, std::uint64_t end);

// Whether this is the file of the kernel's key. It does not compare devices, since stat reports
// another one than the mapping on overlayfs and btrfs, nor inode numbers on overlayfs, nor
// generations, which not every file system shows.
[[nodiscard]] bool Fits(const MappedFile& file, const profd_file_key& key);

// The key that the kernel will most likely have for it.
[[nodiscard]] profd_file_key LikelyKey(const MappedFile& file);

}  // namespace profd::unwind
