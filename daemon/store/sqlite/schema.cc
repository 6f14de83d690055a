#include "daemon/store/sqlite/schema.h"

#include <random>
#include <string>

namespace profd::store {
namespace {

constexpr char kSchema1[] = R"(
CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE host(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, target TEXT NOT NULL,
  host TEXT NOT NULL, kernel TEXT NOT NULL, hook TEXT NOT NULL, profd_version TEXT NOT NULL);
CREATE TABLE window(
  id INTEGER PRIMARY KEY AUTOINCREMENT, host INTEGER NOT NULL, generation INTEGER NOT NULL,
  folded INTEGER NOT NULL, start_unix_ns INTEGER NOT NULL, end_unix_ns INTEGER NOT NULL,
  put_unix_ns INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  on_cpu INTEGER NOT NULL, off_cpu INTEGER NOT NULL, on_cpu_period_ns INTEGER NOT NULL,
  off_cpu_period_ns INTEGER NOT NULL, threads INTEGER NOT NULL, samples INTEGER NOT NULL,
  daemon_cpu_ns INTEGER NOT NULL, bpf_ns INTEGER NOT NULL);
CREATE INDEX window_by_time ON window(start_unix_ns);
CREATE INDEX window_by_generation ON window(generation);
CREATE INDEX window_to_compact ON window(id) WHERE folded = 0;
CREATE TABLE payload(window INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE counter(
  window INTEGER NOT NULL, list TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY(window, list, name)) WITHOUT ROWID;
CREATE TABLE period(
  window INTEGER NOT NULL, time_ns INTEGER NOT NULL, on_cpu_period_ns INTEGER NOT NULL,
  off_cpu_period_ns INTEGER NOT NULL);
CREATE INDEX period_by_window ON period(window);
CREATE TABLE process(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, pid INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, shown_pid INTEGER NOT NULL, comm TEXT NOT NULL,
  command_line TEXT NOT NULL, executable TEXT NOT NULL, build_id TEXT NOT NULL,
  cgroup TEXT NOT NULL, container TEXT NOT NULL, unit TEXT NOT NULL, uid INTEGER, sole INTEGER NOT NULL,
  user TEXT NOT NULL, exited INTEGER NOT NULL, python TEXT, python_refused TEXT);
CREATE TABLE process_time(
  window INTEGER NOT NULL, process INTEGER NOT NULL, threads INTEGER NOT NULL,
  on_cpu_ns INTEGER NOT NULL, runnable_ns INTEGER NOT NULL, blocked_ns INTEGER NOT NULL,
  PRIMARY KEY(window, process)) WITHOUT ROWID;
CREATE TABLE thread(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, tid INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, shown_tid INTEGER NOT NULL, comm TEXT NOT NULL);
CREATE TABLE thread_time(
  generation INTEGER NOT NULL, thread INTEGER NOT NULL, process INTEGER NOT NULL,
  windows INTEGER NOT NULL, on_cpu_ns INTEGER NOT NULL, runnable_after_wakeup_ns INTEGER NOT NULL,
  runnable_after_preemption_ns INTEGER NOT NULL, runnable_after_yield_ns INTEGER NOT NULL,
  blocked_interruptible_ns INTEGER NOT NULL, blocked_uninterruptible_ns INTEGER NOT NULL,
  blocked_iowait_ns INTEGER NOT NULL, on_cpu_count INTEGER NOT NULL,
  PRIMARY KEY(generation, thread, process)) WITHOUT ROWID;
CREATE TABLE module(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, path TEXT NOT NULL,
  info_path TEXT, build_id TEXT NOT NULL, symbols_from TEXT NOT NULL, symbols_file TEXT NOT NULL,
  symbols_missing TEXT NOT NULL, debug_file TEXT NOT NULL, debug_missing TEXT NOT NULL);
CREATE TABLE frame(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, kind INTEGER NOT NULL,
  inlined INTEGER NOT NULL, interpreter INTEGER NOT NULL, name TEXT NOT NULL,
  full_name TEXT NOT NULL, symbol TEXT NOT NULL, module INTEGER NOT NULL, offset INTEGER NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE TABLE stack(
  id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL, used INTEGER NOT NULL);
CREATE UNIQUE INDEX stack_by_place ON stack(parent, frame);
)";

// The data that processes share moves to rows of its own. SQL cannot compute the hashes of the new
// rows, so they get random ones: no search finds these rows, and they go with the last window that
// needs them.
constexpr char kSchema2[] = R"(
CREATE TABLE program(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL,
  command_line TEXT NOT NULL, executable TEXT NOT NULL, build_id TEXT NOT NULL,
  cgroup TEXT NOT NULL, container TEXT NOT NULL, unit TEXT NOT NULL, uid INTEGER,
  sole INTEGER NOT NULL, user TEXT NOT NULL, python TEXT, python_refused TEXT);
INSERT INTO program(hash, used, command_line, executable, build_id, cgroup, container, unit, uid,
                    sole, user, python, python_refused)
  SELECT randomblob(16), max(used), command_line, executable, build_id, cgroup, container, unit,
         uid, sole, user, python, python_refused FROM process GROUP BY 3, 4, 5, 6, 7, 8, 9, 10, 11,
         12, 13;
CREATE TABLE process_of_program(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, pid INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, shown_pid INTEGER NOT NULL, comm TEXT NOT NULL,
  exited INTEGER NOT NULL, program INTEGER NOT NULL);
INSERT INTO process_of_program
  SELECT p.id, p.hash, p.used, p.pid, p.start_ns, p.shown_pid, p.comm, p.exited, g.id
  FROM process AS p JOIN program AS g USING(command_line, executable, build_id, cgroup, container,
                                            unit, sole, user)
  WHERE g.uid IS p.uid AND g.python IS p.python AND g.python_refused IS p.python_refused;
DROP TABLE process;
ALTER TABLE process_of_program RENAME TO process;
)";

// Rows of short-lived processes go when a minute is compacted, and programs with the last of them.
constexpr char kSchema4[] = R"(
ALTER TABLE process ADD COLUMN parent TEXT NOT NULL DEFAULT '';
CREATE INDEX process_by_program ON process(program);
)";

constexpr char kSchema5[] = R"(
ALTER TABLE process_time ADD COLUMN stolen_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE thread_time ADD COLUMN stolen_ns INTEGER NOT NULL DEFAULT 0;
)";

// A window without a row has no paths: it is of an older version, or was made without wakers.
constexpr char kSchema6[] = R"(
CREATE TABLE path_payload(window INTEGER PRIMARY KEY, data BLOB NOT NULL);
)";

// An object of JSON; "": no labels.
constexpr char kSchema7[] = R"(
ALTER TABLE program ADD COLUMN labels TEXT NOT NULL DEFAULT '';
)";

constexpr char kGetState[] = "SELECT value FROM state WHERE name = ?";
constexpr char kSetState[] = "INSERT OR REPLACE INTO state(name, value) VALUES(?, ?)";

constexpr char kFile[] = "file";                     // of `state`
constexpr std::int64_t kApplicationId = 0x70726664;  // "prfd"

struct Migration {
  std::int64_t to;
  const char* sql;
};
// Payloads of version 3 leave out a number that follows from a clock without a gap (kCloses in
// window_codec.cc), those of version 4 have groups of threads (kGroup), those of version 5 stolen
// time (kStolen). The decoder still reads older ones, so no payload has to change.
constexpr Migration kMigrations[] = {{1, kSchema1}, {2, kSchema2}, {3, ""},      {4, kSchema4},
                                     {5, kSchema5}, {6, kSchema6}, {7, kSchema7}};
static_assert(kMigrations[std::size(kMigrations) - 1].to == kSchemaVersion);

Result<void> Migrate(Database& database, const Migration& migration) {
  auto transaction = Transaction::Begin(database, true);
  if (!transaction) return transaction.error();
  // The version changes in the same transaction: a crash leaves the old tables with the old
  // version.
  PROFD_TRY(database.Execute(migration.sql));
  PROFD_TRY(database.Execute(("PRAGMA user_version = " + std::to_string(migration.to)).c_str()));
  PROFD_TRY(
      database.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str()));
  return transaction->Commit();
}

Result<std::int64_t> ReadVersion(Database& database) {
  const auto version = database.Pragma("PRAGMA user_version");
  if (!version) return version.error();
  const auto application = database.Pragma("PRAGMA application_id");
  if (!application) return application.error();
  // A new file has neither an id nor tables. A file with tables and no id is of another program.
  const auto objects = database.Pragma("SELECT count(*) FROM sqlite_master");
  if (!objects) return objects.error();
  const bool ours = *application == kApplicationId;
  if (!ours && (*version != 0 || *objects != 0))
    return Error{ErrorCode::kCorrupt, "this is a database, but not one of profd's", {}};
  if (*version > kSchemaVersion)
    return Error{ErrorCode::kUnsupported,
                 "the store was written by a newer profd (version " + std::to_string(*version) +
                     ", this one knows " + std::to_string(kSchemaVersion) + ")",
                 "install that profd again, or move the store's files away"};
  return *version;
}

}  // namespace

Result<void> PrepareForWriting(Database& database) {
  // Must come before the first write: only then can free pages go back to the file system later.
  PROFD_TRY(database.Execute("PRAGMA auto_vacuum = INCREMENTAL"));
  PROFD_TRY(database.Execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;"
      "PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = ON"));
  const auto version = ReadVersion(database);
  if (!version) return version.error();
  for (const Migration& migration : kMigrations)
    if (migration.to > *version) PROFD_TRY(Migrate(database, migration));
  return {};
}

Result<void> PrepareForReading(Database& database) {
  PROFD_TRY(database.Execute("PRAGMA cache_size = -4096; PRAGMA cell_size_check = ON"));
  const auto version = ReadVersion(database);
  return version ? Result<void>() : Result<void>(version.error());
}

Result<void> CheckIntegrity(Database& database) {
  const auto statement = database.Get("PRAGMA quick_check(1)");
  if (!statement) return statement.error();
  Statement& rows = (*statement)->With();
  const auto row = rows.Step();
  if (!row) return row.error();
  const std::string verdict = *row ? rows.Text(0) : "";
  rows.Reset();
  if (verdict == "ok") return {};
  return Error{ErrorCode::kCorrupt, verdict, {}};
}

Result<std::int64_t> ReadState(Database& database, std::string_view name) {
  const auto statement = database.Get(kGetState);
  if (!statement) return statement.error();
  const auto value = (*statement)->With(name).Number();
  if (!value) return value.error();
  return value->value_or(0);
}

Result<void> WriteState(Database& database, std::string_view name, std::int64_t value) {
  const auto statement = database.Get(kSetState);
  if (!statement) return statement.error();
  return (*statement)->With(name, value).Run();
}

Result<std::int64_t> FileIdentity(Database& database) { return ReadState(database, kFile); }

Result<void> IdentifyFile(Database& database) {
  const auto known = FileIdentity(database);
  if (!known) return known.error();
  if (*known != 0) return {};
  std::random_device random;
  return WriteState(database, kFile,
                    std::uniform_int_distribution<std::int64_t>(1, INT64_MAX)(random));
}

}  // namespace profd::store
