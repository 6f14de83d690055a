// StoreReader: reads windows from the database, and checks all that it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/merge/profile_merge.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/result.h"
#include "daemon/base/sqlite/database.h"
#include "daemon/store/api/filter.h"
#include "daemon/store/api/profile_store.h"
#include "daemon/store/codec/window_codec.h"
#include "daemon/store/sqlite/interner.h"

namespace profd::store {

// A row of the table `window`, with the parts of the profile that the row holds.
struct WindowRow {
  std::int64_t id = 0;
  std::int64_t generation = 0;
  bool compacted = false;
  std::uint64_t end_unix_ns = 0;
  std::uint64_t put_unix_ns = 0;
  aggregate::Profile head;  // without processes, threads, frames, nodes and samples
};

// Reads through a connection of the caller, within the caller's transaction, and must not outlive
// it: it caches descriptions of processes and threads for that one query. It trusts nothing in the
// file.
class StoreReader {
 public:
  StoreReader(Database& database, const Filter& filter) : database_(database), filter_(filter) {}

  [[nodiscard]] Result<std::vector<WindowRow>> Windows(const TimeRange& range);
  [[nodiscard]] Result<std::vector<WindowRow>> WindowsToCompact();
  // Those that no compaction changes any more and whose number is larger, in their order.
  [[nodiscard]] Result<std::vector<WindowRow>> CompactedAfter(std::int64_t id);
  // kNotFound: no window has this number.
  [[nodiscard]] Result<WindowRow> Window(std::int64_t id);

  // The parts that match the filter; nodes and frames are empty, samples keep the store's numbers.
  [[nodiscard]] Result<aggregate::Profile> Read(const WindowRow& row);

  // Adds the numbers of the window's processes and threads.
  [[nodiscard]] Result<void> AddNumbers(const WindowRow& row, Interner::Needed& needed);

  // For aggregate::ProfileMerge::Finish. An unreadable frame becomes one whose name says so.
  [[nodiscard]] aggregate::StackNode Stack(std::uint32_t id);
  [[nodiscard]] symbolize::Frame Frame(std::uint32_t id);
  [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }

 private:
  struct KnownProcess {
    aggregate::ProfileProcess process;
    bool wanted = false;
  };
  struct KnownThread {
    aggregate::ProfileThread thread;
    bool wanted = false;
  };

  Result<std::vector<WindowRow>> ReadRows(Statement& statement);
  enum class WithPaths : std::uint8_t { kNo, kYes };

  Result<StoredWindow> ReadPayload(const WindowRow& row, WithPaths with_paths,
                                   const WantsThread& wants);
  // Nothing: the window has none.
  Result<std::optional<std::string>> ReadPaths(std::int64_t window);
  // `profile` has the threads and samples that the filter wants.
  Result<void> AddPaths(StoredWindow& stored, aggregate::Profile& profile);
  Result<void> ReadCounters(WindowRow& row);
  Result<void> ReadPeriods(WindowRow& row);
  bool HasLabels();
  const KnownProcess* Process(std::uint32_t id);
  const KnownThread* Thread(std::uint32_t id);
  std::optional<symbolize::Frame> ReadFrame(std::uint32_t id);
  bool ReadModule(std::int64_t id, symbolize::Frame& frame);

  Database& database_;
  const Filter& filter_;
  std::unordered_map<std::uint32_t, KnownProcess> processes_;
  std::unordered_map<std::uint32_t, KnownThread> threads_;
  std::unordered_map<std::int64_t, std::pair<std::string, symbolize::ModuleInfoRef>> modules_;
  std::optional<bool> has_paths_;   // the file has the table; nothing: not looked at yet
  std::optional<bool> has_labels_;  // the same of the column of programs
  std::uint64_t unreadable_ = 0;
};

}  // namespace profd::store
