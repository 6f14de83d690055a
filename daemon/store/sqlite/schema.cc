#include "daemon/store/sqlite/schema.h"

#include <string>

#include "daemon/store/sqlite/sql_schema.h"

namespace profd::store {
namespace {

constexpr std::int64_t kApplicationId = 0x70726664;  // "prfd"

struct Migration {
  std::int64_t to;
  const char* sql;
};
// Payloads of version 3 leave out a number that follows from a clock without a gap (kCloses in
// window_layout.h). The decoder still reads older ones, so nothing in the file has to change.
constexpr Migration kMigrations[] = {{1, sql::kSchema1}, {2, sql::kSchema2}, {3, ""}};
static_assert(kMigrations[std::size(kMigrations) - 1].to == kSchemaVersion);

Result<void> Migrate(Database& database, const Migration& migration) {
  auto transaction = Transaction::Begin(database, true);
  if (!transaction) return transaction.error();
  PROFD_TRY(database.Execute(migration.sql));
  PROFD_TRY(database.Execute(("PRAGMA user_version = " + std::to_string(migration.to)).c_str()));
  PROFD_TRY(
      database.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str()));
  return transaction->Commit();
}

Result<std::int64_t> VersionOf(Database& database) {
  const auto version = database.Pragma("PRAGMA user_version");
  if (!version) return version.error();
  const auto application = database.Pragma("PRAGMA application_id");
  if (!application) return application.error();
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
  const auto version = VersionOf(database);
  if (!version) return version.error();
  for (const Migration& migration : kMigrations)
    if (migration.to > *version) PROFD_TRY(Migrate(database, migration));
  return {};
}

Result<void> PrepareForReading(Database& database) {
  PROFD_TRY(database.Execute("PRAGMA cache_size = -4096; PRAGMA cell_size_check = ON"));
  const auto version = VersionOf(database);
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

}  // namespace profd::store
