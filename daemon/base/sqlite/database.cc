#include "daemon/base/sqlite/database.h"

#include <string>
#include <utility>

namespace profd {

Error ErrorFromSqlite(sqlite3* connection, std::string_view context) {
  const int code = sqlite3_errcode(connection) & 0xff;
  Error error{ErrorCode::kIo, std::string(context) + ": " + sqlite3_errmsg(connection), {}};
  if (code == SQLITE_FULL) {
    error.code = ErrorCode::kExhausted;
    error.hint = "make room on its disk; what was stored before is still there";
  }
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) error.code = ErrorCode::kCorrupt;
  if (code == SQLITE_BUSY) error.code = ErrorCode::kUnavailable;
  if (code == SQLITE_PERM || code == SQLITE_READONLY || code == SQLITE_AUTH)
    error.code = ErrorCode::kPermissionDenied;
  return error;
}

void Statement::Bind(int index, std::string_view text) {
  // An empty view may have a null address, which would bind NULL.
  const char* data = text.empty() ? "" : text.data();
  sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::Bind(int index, Blob bytes) {
  sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_STATIC);
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    Reset();
    return false;
  }
  const Error error = ErrorFromSqlite(sqlite3_db_handle(statement_.get()), "SQLite");
  Reset();
  return error;
}

Result<void> Statement::Run() {
  for (;;) {
    const auto row = Step();
    if (!row) return row.error();
    if (!*row) return {};
  }
}

Result<std::optional<std::int64_t>> Statement::Number() {
  const auto row = Step();
  if (!row) return row.error();
  std::optional<std::int64_t> number;
  if (*row && !IsNull(0)) number = Int(0);
  Reset();
  return number;
}

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::uint64_t Statement::Uint(int column) const { return static_cast<std::uint64_t>(Int(column)); }

std::string Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(size));
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Blob Statement::Bytes(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? Blob() : Blob(bytes, static_cast<std::size_t>(size));
}

Result<Database> Database::Open(const std::string& path, bool writable, const char* vfs,
                                int busy_ms) {
  sqlite3* connection = nullptr;
  const int flags = (writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, vfs);
  Database database;
  database.connection_.reset(connection);
  if (code != SQLITE_OK) return ErrorFromSqlite(connection, "cannot open " + path);
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, busy_ms);
  // The file may be damaged, or written by another program.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

Result<void> Database::Execute(const char* sql) {
  if (sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return ErrorFromSqlite(connection_.get(), "SQLite");
  return {};
}

Result<Statement*> Database::Get(const char* sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) return &known->second;
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v3(connection_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared,
                         nullptr) != SQLITE_OK) {
    Error error = ErrorFromSqlite(connection_.get(), "SQLite");
    // Our own SQL is correct, so the tables of the file are not ours: it is damaged.
    if (sqlite3_errcode(connection_.get()) == SQLITE_ERROR) error.code = ErrorCode::kCorrupt;
    return error;
  }
  return &statements_.emplace(sql, Statement(prepared)).first->second;
}

Result<std::int64_t> Database::Pragma(const char* sql) {
  const auto statement = Get(sql);
  if (!statement) return statement.error();
  const auto number = (*statement)->With().Number();
  if (!number) return number.error();
  return number->value_or(0);
}

Result<Transaction> Transaction::Begin(Database& database, bool write) {
  PROFD_TRY(database.Execute(write ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ == nullptr || sqlite3_get_autocommit(database_->connection()) != 0) return;
  // If this fails, SQLite rolls back later, when it next uses the file.
  static_cast<void>(database_->Execute("ROLLBACK"));
}

Result<void> Transaction::Commit() {
  PROFD_TRY(database_->Execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace profd
