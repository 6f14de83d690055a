// Spool: what waits to be sent to one target, on disk, in order.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/fleet/profile/export_profile.h"

namespace profd::fleet {

// One request.
struct SpoolEntry {
  std::uint64_t from_unix_ns = 0;  // the time of the history that it is about
  std::uint64_t to_unix_ns = 0;
  std::uint64_t covers_ns = 0;  // its share of that time, which may have several requests
  Gaps gaps = {};               // that it reports
  std::string payload = {};
};

// Job: a queue of files in one folder, each written whole or not at all. Thread: one. Owner: an
// Exporter. The files are bounded in bytes: Add makes room by dropping the oldest ones.
class Spool {
 public:
  // What no longer fits.
  struct Dropped {
    std::uint64_t entries = 0;
    std::uint64_t ns = 0;
    Gaps gaps;  // that these would have reported
  };

  // Makes the folder, and forgets files from `next` on: their time was not recorded as read.
  [[nodiscard]] static Result<Spool> Open(const std::string& folder, std::uint64_t limit_bytes,
                                          std::uint64_t next);

  // Numbers grow by one with each entry.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  // kExhausted, kIo: it is not written, as if there had been no call. An entry that is larger than
  // the limit is dropped itself.
  // What was dropped is added to `dropped`, also when it fails.
  [[nodiscard]] Result<void> Add(const SpoolEntry& entry, Dropped& dropped);
  // Removes the entries from `number` on, as if they had not been added.
  void Forget(std::uint64_t number);

  [[nodiscard]] bool empty() const { return files_.empty(); }
  [[nodiscard]] std::uint64_t size() const { return files_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Of the oldest entry: its number, and what its loss loses.
  [[nodiscard]] std::uint64_t first() const { return files_.front().number; }
  [[nodiscard]] std::uint64_t first_covers_ns() const { return files_.front().covers_ns; }
  // The oldest entry. kCorrupt, kIo: it cannot be read, and never will.
  [[nodiscard]] Result<SpoolEntry> Read() const;
  void RemoveFirst();

 private:
  struct File {
    std::uint64_t number = 0;
    std::uint64_t covers_ns = 0;
    std::uint64_t bytes = 0;
  };

  Spool(std::string folder, std::uint64_t limit_bytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}
  [[nodiscard]] std::string PathOf(const File& file) const;

  std::string folder_;
  std::uint64_t limit_bytes_;
  std::uint64_t next_ = 1;
  std::uint64_t bytes_ = 0;
  std::deque<File> files_;
};

// Writes a file that is there whole or not at all, also after a loss of power. It has this mode,
// whatever the umask.
[[nodiscard]] Result<void> WriteWhole(const std::string& path, std::string_view bytes,
                                      mode_t mode = 0600);

}  // namespace profd::fleet
