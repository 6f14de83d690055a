// FileCache: which mapped files hold an interpreter; each file is read once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/result.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/python/find/runtime_finder.h"
#include "daemon/reader/opener.h"

namespace profd::python {

// By device, inode, size and times, so that a file that is replaced is read again. Keeps the
// answers for the kMaxFiles files that were requested last. Used by one thread of a reader process.
class FileCache {
 public:
  static constexpr std::size_t kMaxFiles = 16'384;
  // All processes of a host map the same few hundred files, and to open them costs more than all
  // else here: a file that held no interpreter is not even opened again for so long.
  static constexpr std::chrono::milliseconds kTrusted{2'000};

  using Found = std::shared_ptr<const RuntimeFile>;  // null: no interpreter

  // Of a line of the process's maps. An error: the mapping is gone, or cannot be opened.
  [[nodiscard]] Result<Found> Find(reader::FileOpener& opener, std::uint32_t pid,
                                   const MapsLine& line);

 private:
  using Time = std::chrono::steady_clock::time_point;
  // As maps name it. Inode numbers alone are not unique on btrfs.
  struct Place {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::string path;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const {
      return MixBits(place.inode ^ MixBits(place.device)) ^ std::hash<std::string>()(place.path);
    }
  };

  [[nodiscard]] Result<Found> Look(reader::FileOpener& opener, std::uint32_t pid,
                                   const MapsLine& line);

  LruCache<elf::FileStamp, Found> files_{kMaxFiles};
  LruCache<Place, Time, PlaceHash> without_{kMaxFiles};  // an interpreter: since when
};

}  // namespace profd::python
