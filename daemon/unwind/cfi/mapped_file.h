// MappedFile: the file behind one mapping of a process, and what identifies it.
#pragma once

#include <cstdint>

#include "daemon/base/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/regular_file.h"

namespace profd::unwind {

struct MappedFile {
  UniqueFd fd;           // a regular file, open for reading
  elf::FileStamp stamp;  // as stat says
};

// Through /proc/PID/map_files: right for deleted, replaced and hidden files. Where profd may not
// look there, by the path that /proc/PID/maps gives, if the file there is the same. kNotFound: the
// process or the mapping is gone.
[[nodiscard]] Result<MappedFile> OpenMappedFile(const ProcFs& proc, std::uint32_t pid,
                                                std::uint64_t begin, std::uint64_t end);

}  // namespace profd::unwind
