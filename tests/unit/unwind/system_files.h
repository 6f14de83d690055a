// Files of this machine that unwind tables are tested on, this program among them.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace profd::unwind {

struct OpenFile {
  UniqueFd fd;
  std::uint64_t bytes = 0;
};

inline OpenFile OpenSystemFile(const std::string& path) {
  OpenFile file{UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), 0};
  struct stat status {};
  if (file.fd.valid() && ::fstat(file.fd.get(), &status) == 0)
    file.bytes = static_cast<std::uint64_t>(status.st_size);
  return file;
}

inline std::vector<std::byte> ContentsOf(const std::string& path) {
  const OpenFile file = OpenSystemFile(path);
  std::vector<std::byte> bytes(file.bytes);
  if (::pread(file.fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    bytes.clear();
  return bytes;
}

// Where this program lies in memory.
inline std::uint64_t LoadBias() {
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uint64_t*>(to) = info->dlpi_addr;
        return 1;  // the first is the program
      },
      &bias);
  return bias;
}

// Takes every program header of this type away.
inline void RemoveSegments(std::vector<std::byte>& bytes, std::uint32_t type) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    std::byte* at = bytes.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == type) segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
}

// Those of them that are here.
inline std::vector<std::string> SystemFiles() {
  const std::string lib = "/usr/lib/x86_64-linux-gnu/";
  std::vector<std::string> files;
  for (const std::string& path : {lib + "libc.so.6",
                                  lib + "libm.so.6",
                                  lib + "libstdc++.so.6",
                                  lib + "libgcc_s.so.1",
                                  lib + "ld-linux-x86-64.so.2",
                                  lib + "libcrypto.so.3",
                                  lib + "libssl.so.3",
                                  lib + "libz.so.1",
                                  lib + "libsqlite3.so.0",
                                  lib + "libdw.so.1",
                                  lib + "libLLVM-16.so.1",
                                  lib + "libpython3.11.so.1.0",
                                  std::string("/usr/bin/python3.11"),
                                  std::string("/usr/bin/bash"),
                                  std::string("/usr/bin/gdb"),
                                  std::string("/usr/bin/perf"),
                                  std::string("/usr/bin/redis-server"),
                                  std::string("/usr/bin/node"),
                                  std::string("/usr/sbin/ldconfig"),
                                  std::string("/usr/sbin/nginx"),
                                  std::string("/usr/bin/git"),
                                  std::string("/usr/bin/openssl"),
                                  std::string("/usr/lib/postgresql/15/bin/postgres"),
                                  std::string("/usr/lib/gcc/x86_64-linux-gnu/12/cc1")}) {
    if (::access(path.c_str(), R_OK) == 0) files.push_back(path);
  }
  return files;
}

}  // namespace profd::unwind
