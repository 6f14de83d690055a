// RegularFile: a file that is open; a stamp identifies its contents.
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

struct FoundFile {
  UniqueFd fd;  // a regular file, open for reading
  FileStamp stamp;
};

[[nodiscard]] FileStamp StampOf(const reader::OpenedFile& opened);
// What an opener has opened; and a file that is open. kUnsupported: it is no regular file.
[[nodiscard]] FoundFile FoundIn(reader::OpenedFile opened);
[[nodiscard]] Result<FoundFile> FoundIn(UniqueFd fd);

}  // namespace profd::elf

template <>
struct std::hash<profd::elf::FileStamp> {
  std::size_t operator()(const profd::elf::FileStamp& stamp) const {
    using profd::MixBits;
    const std::uint64_t place = MixBits(stamp.inode ^ MixBits(stamp.device));
    return MixBits(place ^ MixBits(stamp.bytes ^ static_cast<std::uint64_t>(stamp.changed_ns)));
  }
};
