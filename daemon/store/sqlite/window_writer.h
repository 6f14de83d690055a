// WindowWriter: puts windows into the database, folds them, and takes old ones out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/store/sqlite/database.h"
#include "daemon/store/sqlite/interner.h"
#include "daemon/store/sqlite/store_reader.h"

namespace profd::store {

// Each method runs inside a transaction of the caller; after a rollback, Load and nothing else.
// Belongs to the writer's thread.
//
// A generation is a run of kWindowsPerGeneration puts. What is interned knows the last generation
// that used it: once there is no window of that one any more, it may go.
class WindowWriter {
 public:
  static constexpr std::int64_t kWindowsPerGeneration = 360;

  WindowWriter(Database& database, std::uint64_t compact_ns);

  // Forgets what it knows, and reads what it must.
  [[nodiscard]] Result<void> Load();
  [[nodiscard]] Result<void> Put(const aggregate::Profile& window, std::uint64_t now_unix_ns);
  // One that was read from another file, as it was there.
  [[nodiscard]] Result<void> PutAgain(const aggregate::Profile& window, const WindowRow& row);
  // Windows of one minute (compact_ns) that follow each other become one, once a later one is
  // there.
  [[nodiscard]] Result<void> Fold();
  // At most 64, of which both the end and the put are before `unix_ns`.
  [[nodiscard]] Result<void> DropExpired(std::uint64_t unix_ns);
  // The oldest ones, until the rest takes less than `bytes`; the newest stays in any case.
  [[nodiscard]] Result<void> DropToFit(std::uint64_t bytes);
  // A bounded step of garbage collection.
  [[nodiscard]] Result<void> Collect();

  [[nodiscard]] Result<std::uint64_t> UsedBytes();

 private:
  Result<aggregate::Profile> Place(const aggregate::Profile& window);
  Result<void> Insert(const aggregate::Profile& unplaced, std::int64_t id, bool folded,
                      std::int64_t generation, std::uint64_t end_unix_ns,
                      std::uint64_t put_unix_ns);
  Result<void> InsertCounters(std::int64_t id, const aggregate::Profile& profile);
  Result<void> InsertProcessTimes(std::int64_t id, const aggregate::Profile& profile,
                                  std::span<const std::uint32_t> process_of);
  Result<void> AddThreadTimes(std::int64_t generation, const aggregate::Profile& profile);
  Result<void> CompactGroup(std::span<const WindowRow> group);
  Result<void> Drop(std::int64_t id);
  Result<void> DropEmptyGenerations();
  Result<void> NextGeneration();
  Result<std::int64_t> State(const char* name);
  Result<void> SetState(const char* name, std::int64_t value);
  template <typename... Values>
  Result<void> Run(const char* sql, const Values&... values);

  Database& database_;
  const std::uint64_t compact_ns_;
  Interner interner_;
  std::int64_t generation_ = 0;
  std::int64_t oldest_generation_ = 0;
  std::int64_t in_generation_ = 0;  // puts
  bool pressed_ = false;            // windows went to make room: collect faster
};

}  // namespace profd::store
