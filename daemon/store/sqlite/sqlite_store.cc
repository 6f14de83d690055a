#include "daemon/store/sqlite/sqlite_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <utility>

#include "daemon/store/sqlite/schema.h"
#include "daemon/store/sqlite/sql.h"
#include "daemon/store/sqlite/store_reader.h"

namespace profd::store {
namespace {

constexpr std::size_t kIdleReaders = 2;
constexpr std::uint64_t kMinLimitBytes = 1u << 20;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kMostPagesMoved = 2'000;  // after a Put, to shrink the file
// Copying from a damaged file delays the start of profd by no more than this.
constexpr std::uint64_t kSalvageNs = 10'000'000'000;

std::uint64_t SizeOf(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
}

// The share of the limit that is reserved for the write-ahead log.
std::uint64_t SpareOf(std::uint64_t limit_bytes) {
  return std::clamp(limit_bytes / 8, kMiB / 4, 64 * kMiB);
}

// The size of the database at which it stays within the limit together with the write-ahead log and
// one more window.
std::uint64_t BudgetOf(std::uint64_t limit_bytes) { return limit_bytes - SpareOf(limit_bytes); }

// Empties the write-ahead log. Waits up to the connection's busy timeout for readers of the log,
// and leaves the log as it is if they do not end.
void TruncateLog(Database& database) {
  sqlite3_wal_checkpoint_v2(database.connection(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
}

// What the connection has written to its log since the last call.
std::uint64_t TakeWrittenBytes(Database& database) {
  constexpr std::uint64_t kFrameBytes = kPageBytes + 24;
  int pages = 0;
  int unused = 0;
  sqlite3_db_status(database.connection(), SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, 1);
  return static_cast<std::uint64_t>(pages) * kFrameBytes;
}

// A damaged header may claim a format that SQLite opens read-only. So "permission denied" means
// damage where the file itself is writable.
bool IsDamage(const Error& error, const std::string& path) {
  return error.code == ErrorCode::kCorrupt ||
         (error.code == ErrorCode::kPermissionDenied && ::access(path.c_str(), W_OK) == 0);
}

}  // namespace

SqliteStore::SqliteStore(const SqliteOptions& options, const Clock& clock, WriterLock lock)
    : options_(options), clock_(clock), lock_(std::move(lock)) {
  status_.path = options.path;
  status_.limit_bytes = options.limit_bytes;
  status_.limit_ns = options.limit_ns;
}

SqliteStore::~SqliteStore() {
  if (writer_ == nullptr) return;
  // Marks the file as closed properly: the next Open need not read all of it to check it.
  auto transaction = Transaction::Begin(*database_, true);
  if (!transaction) return;
  const auto statement = database_->Get(sql::kSetState);
  if (!statement || !(*statement)->With(std::string_view("open"), 0).Run()) return;
  static_cast<void>(transaction->Commit());
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const SqliteOptions& options,
                                                       const Clock& clock) {
  if (options.limit_bytes < kMinLimitBytes)
    return Error{ErrorCode::kInvalidArgument, "a store takes at least 1 MiB", {}};
  auto lock = WriterLock::Take(options.path);
  if (!lock) return lock.error();
  std::unique_ptr<SqliteStore> store(new SqliteStore(options, clock, *std::move(lock)));
  PROFD_TRY(store->OpenFile());
  return store;
}

Result<void> SqliteStore::OpenFile() {
  auto opened = OpenUndamaged();
  if (!opened && IsDamage(opened.error(), options_.path)) opened = ReplaceDamaged(opened.error());
  if (!opened) return opened.error().Wrap("store " + options_.path);
  std::uint64_t last_put_ns = 0;
  const auto last = database_->Pragma(sql::kLastPut);
  if (last) last_put_ns = static_cast<std::uint64_t>(*last);
  present_ = std::make_unique<PresentTime>(clock_, last_put_ns);
  return UpdateStatus();
}

Result<void> SqliteStore::OpenUndamaged() {
  writer_.reset();
  database_.reset();
  auto database = Database::Open(options_.path, true, options_.vfs);
  if (!database) return database.error();
  database_ = std::make_unique<Database>(std::move(*database));
  PROFD_TRY(PrepareForWriting(*database_));
  writer_ = std::make_unique<WindowWriter>(*database_, options_.compact_ns);
  auto result = [&]() -> Result<void> {
    auto transaction = Transaction::Begin(*database_, true);
    if (!transaction) return transaction.error();
    const auto get = database_->Get(sql::kGetState);
    if (!get) return get.error();
    const auto open = (*get)->With(std::string_view("open")).Number();
    if (!open) return open.error();
    if (open->value_or(0) != 0) PROFD_TRY(CheckIntegrity(*database_));
    const auto set = database_->Get(sql::kSetState);
    if (!set) return set.error();
    PROFD_TRY((*set)->With(std::string_view("open"), 1).Run());
    PROFD_TRY(writer_->Load());
    return transaction->Commit();
  }();
  if (!result) writer_.reset();
  return result;
}

Result<void> SqliteStore::ReplaceDamaged(const Error& damage) {
  writer_.reset();
  database_.reset();
  const std::string aside = options_.path + ".damaged";
  for (const char* end : {"", "-wal", "-shm"}) {
    const std::string from = options_.path + end;
    const std::string to = aside + end;
    ::unlink(to.c_str());
    if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
      return ErrorFromErrno(errno, "cannot set the damaged store aside as " + to);
  }
  ++file_;
  PROFD_TRY(OpenUndamaged());
  const auto saved = Salvage(aside);
  const std::string words =
      "the store was damaged (" + damage.message +
      "): " + (saved ? *saved : "nothing could be read of it, " + saved.error().message) +
      "; it was set aside as " + aside;
  const std::lock_guard lock(status_mutex_);
  status_.losses.push_back(words);
  return {};
}

Result<std::string> SqliteStore::Salvage(const std::string& damaged) {
  auto old = Database::Open(damaged, true, options_.vfs);
  if (!old) return old.error();
  const auto ids = old->Get(sql::kWindowIdsDown);
  if (!ids) return ids.error();
  const Filter all;
  StoreReader reader(*old, all);
  std::uint64_t saved = 0;
  std::uint64_t unreadable = 0;
  const std::uint64_t until_ns = clock_.MonotonicNs() + kSalvageNs;
  std::string stop;
  for (Statement& rows = (*ids)->With();;) {
    const auto row = rows.Step();
    if (!row) stop = ", and none of the windows before those";
    if (!row || !*row) break;
    if (clock_.MonotonicNs() > until_ns || abandons_) {
      stop = ", and none of the windows before those for lack of time";
      break;
    }
    const std::int64_t id = rows.Int(0);
    const auto window = reader.Window(id);
    const auto read = window ? reader.Read(*window) : Result<aggregate::Profile>(window.error());
    if (!read || id <= 0) {
      ++unreadable;
      continue;
    }
    aggregate::ProfileMerge merge(options_.query_limits);
    merge.Add(*read);
    const auto whole = merge.Finish([&](std::uint32_t node) { return reader.Stack(node); },
                                    [&](std::uint32_t frame) { return reader.Frame(frame); });
    auto transaction = Transaction::Begin(*database_, true);
    if (!transaction) return transaction.error();
    const auto put = writer_->PutAgain(whole, *window);
    const auto committed = put ? transaction->Commit() : put;
    if (!committed) {
      PROFD_TRY(writer_->Load());
      ++unreadable;
      continue;
    }
    ++saved;
  }
  return std::to_string(saved) + " windows were saved, " + std::to_string(unreadable) +
         " could not be read" + stop;
}

Result<void> SqliteStore::Put(const aggregate::Profile& window) {
  auto put = database_ == nullptr ? Result<void>(OpenFile()) : PutOnce(window);
  if (!put && put.error().code == ErrorCode::kCorrupt) {
    put = ReplaceDamaged(put.error());
    if (put) put = PutOnce(window);
  }
  const std::lock_guard lock(status_mutex_);
  ++status_.puts;
  status_.last_error = put ? "" : put.error().message;
  if (!put) ++status_.failed_puts;
  return put;
}

Result<void> SqliteStore::PutOnce(const aggregate::Profile& window) {
  if (writer_ == nullptr) return Error{ErrorCode::kUnavailable, "the store is not open", {}};
  PROFD_TRY(BoundLog());
  TakeWrittenBytes(*database_);
  const auto result = [&]() -> Result<void> {
    auto transaction = Transaction::Begin(*database_, true);
    if (!transaction) return transaction.error();
    const std::uint64_t now_ns = present_->NowNs();
    if (now_ns > options_.limit_ns) PROFD_TRY(writer_->DropExpired(now_ns - options_.limit_ns));
    PROFD_TRY(writer_->DropToFit(BudgetOf(options_.limit_bytes)));
    PROFD_TRY(writer_->Put(window, now_ns));
    if (!abandons_) {  // otherwise the next profd does it
      PROFD_TRY(writer_->Compact());
      PROFD_TRY(writer_->Collect());
    }
    return transaction->Commit();
  }();
  if (!result) {
    PROFD_TRY(writer_->Load());
    return result.error();
  }
  const std::uint64_t written = TakeWrittenBytes(*database_);
  AfterCommit();
  PROFD_TRY(UpdateStatus());
  const std::lock_guard lock(status_mutex_);
  status_.largest_put_bytes = std::max(status_.largest_put_bytes, written);
  return {};
}

Result<void> SqliteStore::BoundLog() {
  const std::string log = options_.path + "-wal";
  const auto is_too_long = [&] {
    return SizeOf(log) > SpareOf(options_.limit_bytes) && FileBytes() > options_.limit_bytes;
  };
  if (is_too_long()) TruncateLog(*database_);
  if (!is_too_long()) return {};
  return Error{ErrorCode::kExhausted,
               "another program holds a read transaction on the history: " + log +
                   " would grow beyond its limit",
               "end that transaction; a sqlite3 shell may have one open"};
}

void SqliteStore::AfterCommit() {
  // Passive: does not wait for readers. The next Put moves the pages that this one cannot.
  sqlite3_wal_checkpoint_v2(database_->connection(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
  const std::uint64_t spare = SpareOf(options_.limit_bytes);
  // Pages that the vacuum moves go through the write-ahead log, so the spare bounds them, too.
  const std::uint64_t pages = std::min(kMostPagesMoved, spare / 4 / kPageBytes);
  const std::string vacuum = "PRAGMA incremental_vacuum(" + std::to_string(pages) + ")";
  if (SizeOf(options_.path) + spare / 2 > options_.limit_bytes)
    static_cast<void>(database_->Execute(vacuum.c_str()));
  if (SizeOf(options_.path + "-wal") * 2 > spare) {
    sqlite3_busy_timeout(database_->connection(), 0);
    TruncateLog(*database_);
    sqlite3_busy_timeout(database_->connection(), kBusyMs);
  }
}

Result<void> SqliteStore::UpdateStatus() {
  const auto statement = database_->Get(sql::kExtent);
  if (!statement) return statement.error();
  Statement& row = (*statement)->With();
  const auto got = row.Step();
  if (!got) return got.error();
  const std::lock_guard lock(status_mutex_);
  status_.windows = row.Uint(0);
  status_.first_unix_ns = row.Uint(1);
  status_.last_unix_ns = row.Uint(2);
  row.Reset();
  return {};
}

std::uint64_t SqliteStore::FileBytes() const {
  return SizeOf(options_.path) + SizeOf(options_.path + "-wal") + SizeOf(options_.path + "-shm");
}

StoreStatus SqliteStore::Status() const {
  const std::lock_guard lock(status_mutex_);
  StoreStatus status = status_;
  status.bytes = FileBytes();
  return status;
}

Result<SqliteStore::PooledReader> SqliteStore::TakeReader() const {
  {
    const std::lock_guard lock(readers_mutex_);
    std::erase_if(readers_, [&](const auto& reader) { return reader.file != file_; });
    if (!readers_.empty()) {
      PooledReader reader = std::move(readers_.back());
      readers_.pop_back();
      return reader;
    }
  }
  const std::uint64_t file = file_;
  auto database = Database::Open(options_.path, false, options_.vfs);
  if (!database) return database.error();
  PROFD_TRY(PrepareForReading(*database));
  return PooledReader{std::move(*database), file};
}

void SqliteStore::GiveBack(PooledReader reader) const {
  const std::lock_guard lock(readers_mutex_);
  if (readers_.size() < kIdleReaders) readers_.push_back(std::move(reader));
}

Result<aggregate::Profile> SqliteStore::Query(const TimeRange& range, const Filter& filter) const {
  auto pooled = TakeReader();
  if (!pooled) return pooled.error();
  aggregate::Profile merged;
  {
    const auto transaction = Transaction::Begin(pooled->database, false);
    if (!transaction) return transaction.error();
    StoreReader reader(pooled->database, filter);
    const auto rows = reader.Windows(range);
    if (!rows) return rows.error();
    if (rows->empty())
      return Error{ErrorCode::kNotFound, "there is no window in this time range", {}};
    aggregate::ProfileMerge merge(options_.query_limits);
    std::uint64_t unreadable = 0;
    for (const WindowRow& row : *rows) {
      if (abandons_) return Error{ErrorCode::kUnavailable, "profd is shutting down", "try again"};
      const auto window = reader.Read(row);
      if (window) {
        merge.Add(*window);
      } else {
        ++unreadable;
      }
    }
    merged = merge.Finish([&](std::uint32_t node) { return reader.Stack(node); },
                          [&](std::uint32_t frame) { return reader.Frame(frame); });
    if (unreadable != 0)
      merged.dropped.push_back(
          {"store_windows", "windows of the store that could not be read", unreadable});
    if (reader.unreadable() != 0)
      merged.dropped.push_back(
          {"store_frames", "frames of the store that could not be read", reader.unreadable()});
  }
  GiveBack(std::move(*pooled));
  return merged;
}

}  // namespace profd::store
