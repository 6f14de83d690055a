// StoreTail: follows the windows of a history that another process writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/aggregate/merge/profile_merge.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"

namespace profd::store {

// How far a reader has come. Windows whose minute is not compacted yet are no part of it: when it
// is, they become one window, under the number of the first.
struct TailCursor {
  std::int64_t file = 0;    // FileIdentity of the history
  std::int64_t window = 0;  // number of the last window
  std::uint64_t end_unix_ns = 0;
  friend bool operator==(const TailCursor&, const TailCursor&) = default;
};

// The next part of the history.
struct TailPart {
  aggregate::Profile profile;
  TailCursor next;  // behind it
  std::uint64_t from_unix_ns = 0;
  std::uint64_t to_unix_ns = 0;
  // Time before it that cannot be read any more, at most: windows that the history has dropped.
  std::uint64_t dropped_ns = 0;
  // Time within it that is damaged.
  std::uint64_t unreadable_ns = 0;
};

struct TailOptions {
  std::string path;  // of the file
  // Windows that begin in the same span of this length, and follow each other, are one part.
  std::uint64_t interval_ns = 60'000'000'000;
  // The last part is complete when this time has passed since its span, too.
  std::uint64_t grace_ns = 180'000'000'000;
  aggregate::MergeLimits limits;
};

// Job: reads finished windows in the order of their puts, each once. Thread: one. Opens the file
// for each call, since the writer replaces a damaged one; holds a read transaction no longer than
// reading takes, and never delays the writer.
class StoreTail {
 public:
  explicit StoreTail(TailOptions options) : options_(std::move(options)) {}

  // The end of what is there: where a new reader begins. kNotFound: there is no history yet.
  [[nodiscard]] Result<TailCursor> End() const;
  // Nothing: no part is complete yet.
  [[nodiscard]] Result<std::optional<TailPart>> Next(const TailCursor& cursor,
                                                     std::uint64_t now_unix_ns) const;

 private:
  const TailOptions options_;
};

}  // namespace profd::store
