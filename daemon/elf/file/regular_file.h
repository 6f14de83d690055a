// RegularFile: opens files of others without effect on them; a stamp identifies their contents.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "daemon/base/keys.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/reader/opener.h"

namespace profd::elf {

// Which contents a file had when it was looked at: differs when it is replaced or rewritten.
struct FileStamp {
  std::uint64_t device = 0;  // as stat says
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// A regular file that has been looked at and not opened: opening a device or a FIFO would be
// noticed, or wait.
struct SeenFile {
  UniqueFd handle;  // O_PATH
  FileStamp stamp;
  std::uint32_t owner = 0;  // uid
};

struct FoundFile {
  UniqueFd fd;  // a regular file, open for reading
  FileStamp stamp;
};

// What an opener has opened; and a regular file that is open.
[[nodiscard]] FoundFile FoundIn(reader::OpenedFile opened);
[[nodiscard]] Result<FoundFile> FoundIn(UniqueFd fd);

// kNotFound: there is none. kUnsupported: it is no regular file. The message begins with the path.
[[nodiscard]] Result<SeenFile> LookAt(const std::string& path);

// The file that was looked at, whatever its path means by now.
[[nodiscard]] Result<FoundFile> OpenSeen(const SeenFile& seen);

}  // namespace profd::elf

template <>
struct std::hash<profd::elf::FileStamp> {
  std::size_t operator()(const profd::elf::FileStamp& stamp) const {
    using profd::MixBits;
    const std::uint64_t place = MixBits(stamp.inode ^ MixBits(stamp.device));
    return MixBits(place ^ MixBits(stamp.bytes ^ static_cast<std::uint64_t>(stamp.changed_ns)));
  }
};
