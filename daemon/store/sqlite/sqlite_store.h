// SqliteStore: the history on disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/aggregate/merge/profile_merge.h"
#include "daemon/base/clock.h"
#include "daemon/base/sqlite/database.h"
#include "daemon/base/unique_fd.h"
#include "daemon/store/api/present_time.h"
#include "daemon/store/api/profile_store.h"
#include "daemon/store/sqlite/window_writer.h"

namespace profd::store {

struct SqliteOptions {
  std::string path;                        // its folder exists; SQLite adds PATH-wal and PATH-shm
  std::uint64_t limit_bytes = 1ull << 30;  // at least 1 MiB
  std::uint64_t limit_ns = 7ull * 24 * 3600 * 1'000'000'000;
  std::uint64_t compact_ns = 60'000'000'000;
  aggregate::MergeLimits query_limits{.processes = 50'000,
                                      .threads = 100'000,
                                      .frames = 200'000,
                                      .nodes = 500'000,
                                      .samples = 400'000,
                                      .paths = 100'000};
  const char* vfs = nullptr;  // name of SQLite's file layer; null: the system's
};

// One SQLite file in WAL mode; FORMAT.md describes its tables. One thread calls Put and has the
// only connection that writes. Any thread may call Query, which takes a connection of its own from
// a pool and sees the windows that were committed when it began. Query and Put never wait for each
// other. Each Put is one transaction, is on disk when it returns, and enforces both limits: the
// files never take more than limit_bytes plus what one Put writes. A Put that fails leaves all
// earlier windows. One process at a time writes to a file.
//
// If Open or Put finds the file damaged, the store renames it to "PATH.damaged" (replacing an
// earlier one), copies what it can read of it into a new file, and reports the loss in Status.
class SqliteStore : public ProfileStore {
 public:
  // `clock` outlives the store. kUnsupported for a file of a newer profd; kUnavailable while
  // another process writes to it.
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> Open(const SqliteOptions& options,
                                                                 const Clock& clock);
  ~SqliteStore() override;

  [[nodiscard]] Result<void> Put(const aggregate::Profile& window) override;
  [[nodiscard]] Result<aggregate::Profile> Query(const TimeRange& range,
                                                 const Filter& filter) const override;
  [[nodiscard]] StoreStatus Status() const override;
  // From now on queries fail with kUnavailable, Put does not compact windows, and a copy from a
  // damaged file stops; the rest of that file stays in "PATH.damaged".
  void AbandonLongWork() override { abandons_ = true; }

 private:
  struct PooledReader {
    Database database;
    std::uint64_t file = 0;  // counts the files that had this name
  };

  SqliteStore(const SqliteOptions& options, const Clock& clock, UniqueFd lock);
  // Opens the file, and replaces it if it is damaged.
  Result<void> OpenFile();
  Result<void> OpenUndamaged();
  // Renames the damaged file, and opens a new one with what can be read of the old one.
  Result<void> ReplaceDamaged(const Error& damage);
  // Copies windows, the newest first. Returns a message with their number.
  Result<std::string> Salvage(const std::string& damaged);
  Result<void> CopyWindow(StoreReader& reader, std::int64_t id);
  Result<void> PutOnce(const aggregate::Profile& window);
  Result<void> WriteWindow(const aggregate::Profile& window);
  // Fails if a reader keeps the write-ahead log from being emptied, and the limit is reached.
  Result<void> BoundLog();
  // Moves the log into the file, and gives free pages back to the file system.
  void AfterCommit();
  Result<void> UpdateStatus();
  [[nodiscard]] std::uint64_t FileBytes() const;
  [[nodiscard]] Result<PooledReader> TakeReader() const;
  void GiveBack(PooledReader reader) const;

  const SqliteOptions options_;
  const Clock& clock_;
  const UniqueFd lock_;                 // the kernel releases it if profd is killed
  std::unique_ptr<Database> database_;  // of the writer
  std::unique_ptr<WindowWriter> writer_;
  std::unique_ptr<PresentTime> present_;
  std::atomic<std::uint64_t> file_{0};
  std::atomic<bool> abandons_{false};

  mutable std::mutex readers_mutex_;
  mutable std::vector<PooledReader> readers_;
  mutable std::mutex status_mutex_;
  StoreStatus status_;
};

}  // namespace profd::store
