// WindowWriter: puts windows into the database, compacts them, drops old ones, and collects rows
// that no window uses any more.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/base/sqlite/database.h"
#include "daemon/store/sqlite/interner.h"
#include "daemon/store/sqlite/store_reader.h"

namespace profd::store {

// Every method runs inside a transaction of the caller. After a rollback the caller must call Load
// before anything else, because the state in memory is ahead of the file. Belongs to the writer's
// thread.
//
// A generation is a run of kWindowsPerGeneration puts. Every interned row (frame, stack,
// process...) records the last generation that used it. When the file has no window of that
// generation left, no window can refer to the row, and Collect may delete it. Counting references
// instead would write to every row of a window again when the window is dropped.
class WindowWriter {
 public:
  static constexpr std::int64_t kWindowsPerGeneration = 360;

  WindowWriter(Database& database, std::uint64_t compact_ns);

  // Discards what is cached, and reads the state from the database.
  [[nodiscard]] Result<void> Load();
  [[nodiscard]] Result<void> Put(const aggregate::Profile& window, std::uint64_t now_unix_ns);
  // Puts a window that was read from another file, with its id and times.
  [[nodiscard]] Result<void> PutAgain(const aggregate::Profile& window, const WindowRow& row);
  // Merges windows of the same minute (compact_ns) that follow each other into one window. The
  // newest group stays as it is, because it may still grow.
  [[nodiscard]] Result<void> Compact();
  // Drops windows whose end and put are both before `unix_ns`: at most 64 in one call.
  [[nodiscard]] Result<void> DropExpired(std::uint64_t unix_ns);
  // Drops the oldest windows until the rest takes at most `bytes`. Never drops the newest.
  [[nodiscard]] Result<void> DropToFit(std::uint64_t bytes);
  // Deletes interned rows that no window uses. One call does a bounded step.
  [[nodiscard]] Result<void> Collect();

  [[nodiscard]] Result<std::uint64_t> UsedBytes();

 private:
  Result<aggregate::Profile> InternStacks(const aggregate::Profile& window);
  // Adds all rows of a window whose samples have the store's numbers. `id` 0: the next one.
  Result<void> Insert(const aggregate::Profile& window, std::int64_t id, bool compacted,
                      std::int64_t generation, std::uint64_t end_unix_ns,
                      std::uint64_t put_unix_ns);
  Result<void> InsertCounters(std::int64_t id, const aggregate::Profile& profile);
  Result<void> InsertProcessTimes(std::int64_t id, const aggregate::Profile& profile,
                                  std::span<const std::uint32_t> process_of);
  Result<void> AddThreadTimes(std::int64_t generation, const aggregate::Profile& profile);
  // The windows of `group` become one. `later`: those after them.
  Result<void> CompactGroup(std::span<const WindowRow> group, std::span<const WindowRow> later);
  Result<void> Drop(std::int64_t id);
  Result<void> DropEmptyGenerations();
  Result<void> NextGeneration();
  template <typename... Values>
  Result<void> Run(const char* sql, const Values&... values);

  Database& database_;
  const std::uint64_t compact_ns_;
  Interner interner_;
  std::int64_t generation_ = 0;
  std::int64_t oldest_generation_ = 0;
  std::int64_t in_generation_ = 0;  // puts in the current generation
  bool under_pressure_ = false;     // the last DropToFit dropped windows: collect faster
};

}  // namespace profd::store
