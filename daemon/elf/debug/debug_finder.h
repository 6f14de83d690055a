// DebugFinder: the separate file with the symbols and debug information of another file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/elf/symbols/elf_reader.h"
#include "daemon/reader/opener.h"

namespace profd::elf {

struct FoundDebugFile {
  UniqueFd fd;
  FileStamp stamp;
  std::string path;  // as the target sees it
  ElfContents contents;
};

// Looks, in the root of the target's process and then in this one, and takes the first file that
// belongs to the same build:
//   /usr/lib/debug/.build-id/ab/cdef.debug
//   DIR/NAME, DIR/.debug/NAME, /usr/lib/debug/DIR/NAME, by .gnu_debuglink; its checksum must be
//   right, unless both files have a build id
// In the root of the target its user must be allowed to read them; in this one, everybody. Runs in
// a reader process.
class DebugFinder {
 public:
  // The opener outlives this.
  explicit DebugFinder(reader::FileOpener& opener) : opener_(opener) {}

  // The error says what was tried.
  [[nodiscard]] Result<FoundDebugFile> Find(const ObjectId& id, const std::string& build_id,
                                            const DebugLinks& links, const ElfLimits& limits) const;
  // A file that should be of this build. `path` is its name, for people.
  [[nodiscard]] Result<FoundDebugFile> TakeDownloaded(UniqueFd fd, const std::string& path,
                                                      const std::string& build_id,
                                                      const ElfLimits& limits) const;
  // The dwz file that a debug file at `path` shares with others.
  [[nodiscard]] Result<UniqueFd> FindAlternate(const ObjectId& id, const std::string& path,
                                               const DebugLinks& links,
                                               const ElfLimits& limits) const;

 private:
  class Attempt;
  reader::FileOpener& opener_;
};

// "/usr/lib/debug/.build-id/ab/cdef.debug"; "" for an id that is too short.
[[nodiscard]] std::string BuildIdPath(std::string_view build_id);

}  // namespace profd::elf
