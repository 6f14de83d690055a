// Interner: gives frames, stacks, processes and threads their numbers in the store, which keeps
// each of them once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/thread_groups.h"
#include "daemon/base/result.h"
#include "daemon/base/sqlite/database.h"
#include "daemon/store/codec/content_hash.h"

namespace profd::store {

// Belongs to the writer. For every row that it hands out, it records that the current
// generation uses the row, so garbage collection keeps it while windows of that generation exist.
// Its caches are bounded. The writer must call Forget after a rollback, because they may name rows
// that are gone.
class Interner {
 public:
  explicit Interner(Database& database);

  // `now`: the generation of windows that are put now. `oldest`: that of the oldest window; rows
  // last used before it may have been collected.
  void SetGenerations(std::int64_t now, std::int64_t oldest) {
    now_ = now;
    oldest_ = oldest;
  }
  void Forget();

  [[nodiscard]] Result<std::uint32_t> Host(const aggregate::Profile& profile);
  [[nodiscard]] Result<std::uint32_t> Process(const aggregate::ProfileProcess& process);
  [[nodiscard]] Result<std::uint32_t> Thread(const aggregate::ProfileThread& thread);
  // Rows that windows may not need any more, by their hashes.
  struct Rows {
    std::vector<Hash128> threads;
    std::vector<Hash128> processes;
    std::vector<Hash128> programs;
    void Add(const aggregate::Grouped& grouped);
  };
  // Numbers of rows that windows still have.
  struct Needed {
    std::unordered_set<std::uint32_t> threads;
    std::unordered_set<std::uint32_t> processes;
  };
  // Removes these rows, except programs of other processes.
  [[nodiscard]] Result<void> Remove(const Rows& rows, const Needed& needed);
  [[nodiscard]] Result<std::uint32_t> Frame(const symbolize::Frame& frame);
  // `parent` is a stack's number, 0 for the root.
  [[nodiscard]] Result<std::uint32_t> Stack(std::uint32_t parent, std::uint32_t frame);

 private:
  struct Entry {
    std::uint32_t id = 0;
    std::int64_t used = 0;
  };
  struct HashHash {
    std::size_t operator()(const Hash128& hash) const;
  };
  struct StackHash {
    std::size_t operator()(std::uint64_t key) const { return MixBits(key); }
  };
  // The cache of one table. Tables have separate ones: equal hashes mean equal rows only within
  // one.
  struct Table {
    const char* find;
    const char* touch;
    std::unordered_map<Hash128, Entry, HashHash> known;
  };

  // `add` binds a statement that inserts the row.
  template <typename Add>
  Result<std::uint32_t> Intern(Table& table, const Hash128& hash, const char* insert,
                               const Add& add);
  Result<void> RemoveRows(Table& table, const char* remove, const std::vector<Hash128>& hashes,
                          const std::unordered_set<std::uint32_t>& needed);
  // Nothing: there is no such row.
  Result<std::optional<std::uint32_t>> NumberOf(const Table& table, const Hash128& hash);
  // Records that the current generation uses the row.
  Result<std::uint32_t> Touch(Entry& entry, const char* touch);
  Result<std::uint32_t> Program(const aggregate::ProfileProcess& process);
  Result<std::uint32_t> Module(const symbolize::Frame& frame);

  Database& database_;
  std::int64_t now_ = 0;
  std::int64_t oldest_ = 0;
  Table hosts_;
  Table programs_;
  Table processes_;
  Table threads_;
  Table modules_;
  Table frames_;
  std::unordered_map<std::uint64_t, Entry, StackHash> stacks_;  // (parent, frame)
};

}  // namespace profd::store
