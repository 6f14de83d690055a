#include "daemon/store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <utility>

#include "daemon/base/private_file.h"
#include "daemon/store/sqlite/schema.h"
#include "daemon/store/sqlite/store_reader.h"

namespace profd::store {
namespace {

constexpr char kLastPut[] = "SELECT put_unix_ns FROM window ORDER BY id DESC LIMIT 1";
constexpr char kWindowIdsDown[] = "SELECT window FROM payload ORDER BY window DESC";
constexpr char kExtent[] = "SELECT count(*), min(start_unix_ns), max(end_unix_ns) FROM window";

constexpr std::size_t kIdleReaders = 2;
constexpr std::uint64_t kMinLimitBytes = 1u << 20;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kMostPagesMoved = 2'000;  // after a Put, to shrink the file
// Copying from a damaged file delays the start of profd by no more than this.
constexpr std::uint64_t kSalvageNs = 10'000'000'000;

std::uint64_t FileSize(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
}

// The share of the limit that is reserved for the write-ahead log.
std::uint64_t LogLimit(std::uint64_t limit_bytes) {
  return std::clamp(limit_bytes / 8, kMiB / 4, 64 * kMiB);
}

// The size of the database at which it stays within the limit together with the write-ahead log and
// one more window.
std::uint64_t DatabaseLimit(std::uint64_t limit_bytes) {
  return limit_bytes - LogLimit(limit_bytes);
}

// Empties the write-ahead log. Waits up to the connection's busy timeout for readers of the log,
// and leaves the log as it is if they do not end.
void TruncateLog(Database& database) {
  sqlite3_wal_checkpoint_v2(database.connection(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
}

// The bytes that the connection has written to its log since the last call.
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

// Lets one process at a time write to the history. kUnavailable: another process does, or this one.
// It locks a file of its own, because SQLite locks parts of the history file itself, and because a
// damaged history file is renamed.
Result<UniqueFd> TakeWriterLock(const std::string& path) {
  const std::string name = path + ".lock";
  PROFD_TRY(MakePrivateFile(name));
  UniqueFd file(::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return ErrorFromErrno(errno, "cannot open " + name);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return ErrorFromErrno(errno, "cannot lock " + name);
  return Error{ErrorCode::kUnavailable, "another profd keeps its history in " + path,
               "stop it, or give this one another --history-directory"};
}

}  // namespace

SqliteStore::SqliteStore(const SqliteOptions& options, const Clock& clock, UniqueFd lock)
    : options_(options), clock_(clock), lock_(std::move(lock)) {
  status_.path = options.path;
  status_.limit_bytes = options.limit_bytes;
  status_.limit_ns = options.limit_ns;
}

SqliteStore::~SqliteStore() {
  if (writer_ == nullptr) return;
  // Records that the file was closed properly, so that the next Open need not read all of it to
  // check it. If this fails, that check is the only consequence.
  auto transaction = Transaction::Begin(*database_, true);
  if (transaction && WriteState(*database_, "open", 0)) static_cast<void>(transaction->Commit());
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const SqliteOptions& options,
                                                       const Clock& clock) {
  if (options.limit_bytes < kMinLimitBytes)
    return Error{ErrorCode::kInvalidArgument, "a store takes at least 1 MiB", {}};
  auto lock = TakeWriterLock(options.path);
  if (!lock) return lock.error();
  std::unique_ptr<SqliteStore> store(new SqliteStore(options, clock, *std::move(lock)));
  PROFD_TRY(store->OpenFile());
  return store;
}

Result<void> SqliteStore::OpenFile() {
  auto opened = OpenUndamaged();
  if (!opened && IsDamage(opened.error(), options_.path)) opened = ReplaceDamaged(opened.error());
  if (!opened) return opened.error().Wrap("store " + options_.path);
  // The last put is a time that was right once. A clock that is far ahead of it is doubted.
  std::uint64_t last_put_ns = 0;
  const auto last = database_->Pragma(kLastPut);
  if (last) last_put_ns = static_cast<std::uint64_t>(*last);
  present_ = std::make_unique<PresentTime>(clock_, last_put_ns);
  return UpdateStatus();
}

Result<void> SqliteStore::OpenUndamaged() {
  writer_.reset();
  database_.reset();
  // SQLite would make the file as the umask says. It gives its other files the mode of this one,
  // but uses what is there.
  PROFD_TRY(MakePrivateFile(options_.path));
  for (const char* end : {"-wal", "-shm", "-journal"})
    PROFD_TRY(KeepPrivateFile(options_.path + end));
  auto database = Database::Open(options_.path, true, options_.vfs);
  if (!database) return database.error();
  database_ = std::make_unique<Database>(std::move(*database));
  PROFD_TRY(PrepareForWriting(*database_));
  writer_ = std::make_unique<WindowWriter>(*database_, options_.compact_ns);
  auto result = [&]() -> Result<void> {
    auto transaction = Transaction::Begin(*database_, true);
    if (!transaction) return transaction.error();
    const auto open = ReadState(*database_, "open");
    if (!open) return open.error();
    // profd was killed, or the machine lost power. The disk may have written half of a page, which
    // SQLite would find only when it reads that page.
    if (*open != 0) PROFD_TRY(CheckIntegrity(*database_));
    PROFD_TRY(WriteState(*database_, "open", 1));
    PROFD_TRY(IdentifyFile(*database_));
    PROFD_TRY(writer_->Load());
    return transaction->Commit();
  }();
  if (!result) writer_.reset();
  return result;
}

Result<void> SqliteStore::ReplaceDamaged(const Error& damage) {
  // The log and the shared memory belong to the file. A new file must not find the log of the old
  // one, because SQLite would apply it.
  writer_.reset();
  database_.reset();
  const std::string aside = options_.path + ".damaged";
  for (const char* end : {"", "-wal", "-shm"}) {
    const std::string from = options_.path + end;
    const std::string to = aside + end;
    ::unlink(to.c_str());
    if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
      return ErrorFromErrno(errno, "cannot rename the damaged store to " + to);
  }
  ++file_;  // pooled readers have the old file open
  PROFD_TRY(OpenUndamaged());
  const auto saved = Salvage(aside);
  const std::string message =
      "the store was damaged (" + damage.message +
      "): " + (saved ? *saved : "nothing could be read of it, " + saved.error().message) +
      "; it was renamed to " + aside;
  const std::lock_guard lock(status_mutex_);
  status_.losses.push_back(message);
  return {};
}

Result<std::string> SqliteStore::Salvage(const std::string& damaged) {
  // Writable, although nothing is written: SQLite needs that to read the file's log.
  auto old = Database::Open(damaged, true, options_.vfs);
  if (!old) return old.error();
  const auto ids = old->Get(kWindowIdsDown);
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
      stop = ", and none of the windows before those, because the time was over";
      break;
    }
    // A transaction for each window: one that cannot be copied leaves the others.
    auto transaction = Transaction::Begin(*database_, true);
    if (!transaction) return transaction.error();
    const auto copied = CopyWindow(reader, rows.Int(0));
    if (copied && transaction->Commit()) {
      ++saved;
    } else {
      ++unreadable;
      // After a rollback, the caches of the writer are ahead of the file.
      PROFD_TRY(writer_->Load());
    }
  }
  return std::to_string(saved) + " windows were saved, " + std::to_string(unreadable) +
         " could not be read" + stop;
}

Result<void> SqliteStore::CopyWindow(StoreReader& reader, std::int64_t id) {
  const auto window = reader.Window(id);
  if (!window) return window.error();
  const auto read = reader.Read(*window);
  if (!read) return read.error();
  // 0 would let SQLite choose another id, and the order of the windows would be lost.
  if (id <= 0) return Error{ErrorCode::kCorrupt, "a window has no number", {}};
  // The numbers of nodes are those of the old file. The merge replaces them by whole stacks.
  aggregate::ProfileMerge merge(options_.query_limits);
  merge.Add(*read);
  const auto whole = merge.Finish([&](std::uint32_t node) { return reader.Stack(node); },
                                  [&](std::uint32_t frame) { return reader.Frame(frame); });
  return writer_->PutAgain(whole, *window);
}

Result<void> SqliteStore::Put(const aggregate::Profile& window) {
  auto put = database_ == nullptr ? Result<void>(OpenFile()) : PutOnce(window);
  // Open checks only files that were not closed. Damage of others shows when a page is used.
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
  if (const auto result = WriteWindow(window); !result) {
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

Result<void> SqliteStore::WriteWindow(const aggregate::Profile& window) {
  auto transaction = Transaction::Begin(*database_, true);
  if (!transaction) return transaction.error();
  const std::uint64_t now_ns = present_->NowNs();
  // Old windows go first, so that the new one can use their pages.
  if (now_ns > options_.limit_ns) PROFD_TRY(writer_->DropExpired(now_ns - options_.limit_ns));
  PROFD_TRY(writer_->DropToFit(DatabaseLimit(options_.limit_bytes)));
  PROFD_TRY(writer_->Put(window, now_ns));
  if (!abandons_) {  // otherwise the next profd does it
    PROFD_TRY(writer_->Compact());
    PROFD_TRY(writer_->Collect());
  }
  return transaction->Commit();
}

Result<void> SqliteStore::BoundLog() {
  const std::string log = options_.path + "-wal";
  const auto is_too_long = [&] {
    return FileSize(log) > LogLimit(options_.limit_bytes) && FileBytes() > options_.limit_bytes;
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
  const std::uint64_t spare = LogLimit(options_.limit_bytes);
  // Pages that the vacuum moves go through the write-ahead log, so the spare bounds them, too.
  const std::uint64_t pages = std::min(kMostPagesMoved, spare / 4 / kPageBytes);
  const std::string vacuum = "PRAGMA incremental_vacuum(" + std::to_string(pages) + ")";
  if (FileSize(options_.path) + spare / 2 > options_.limit_bytes)
    static_cast<void>(database_->Execute(vacuum.c_str()));
  if (FileSize(options_.path + "-wal") * 2 > spare) {
    // Emptying the log waits for its readers. A put must not wait for a query: BoundLog does, when
    // there is no other way.
    sqlite3_busy_timeout(database_->connection(), 0);
    TruncateLog(*database_);
    sqlite3_busy_timeout(database_->connection(), kBusyMs);
  }
}

Result<void> SqliteStore::UpdateStatus() {
  const auto statement = database_->Get(kExtent);
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

// The three files take space, so all of them count against the limit.
std::uint64_t SqliteStore::FileBytes() const {
  return FileSize(options_.path) + FileSize(options_.path + "-wal") +
         FileSize(options_.path + "-shm");
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
  // Before the file is opened: if it is replaced in between, the reader counts as one of the old
  // file and is discarded. After it, a reader of the old file could count as one of the new file.
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
