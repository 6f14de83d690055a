// Database, Statement, Transaction: RAII wrappers around SQLite.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/result.h"

namespace profd {

// How long a statement waits for another process that locks the file, if its caller does not say.
inline constexpr int kBusyMs = 1'000;

using Blob = std::span<const std::byte>;

// One prepared statement. Bind with With, then call Step until it returns false.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Resets the statement and binds all parameters; texts and blobs must live until the last Step.
  template <typename... Values>
  Statement& With(const Values&... values) {
    sqlite3_reset(statement_.get());
    int index = 0;  // NOLINT(misc-const-correctness): the fold expression changes it
    (Bind(++index, values), ...);
    return *this;
  }
  // True: there is a row.
  [[nodiscard]] Result<bool> Step();
  // For statements without rows.
  [[nodiscard]] Result<void> Run();
  // The first column of the only row; none: there is no row.
  [[nodiscard]] Result<std::optional<std::int64_t>> Number();

  [[nodiscard]] std::int64_t Int(int column) const;
  [[nodiscard]] std::uint64_t Uint(int column) const;
  [[nodiscard]] std::string Text(int column) const;
  [[nodiscard]] bool IsNull(int column) const;
  [[nodiscard]] Blob Bytes(int column) const;  // until the next Step
  void Reset() { sqlite3_reset(statement_.get()); }

 private:
  struct Free {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  template <std::integral Value>
  void Bind(int index, Value value) {
    sqlite3_bind_int64(statement_.get(), index, static_cast<sqlite3_int64>(value));
  }
  void Bind(int index, std::string_view text);
  void Bind(int index, const std::string& text) { Bind(index, std::string_view(text)); }
  void Bind(int index, Blob bytes);
  void Bind(int index, std::optional<std::string_view> text) {
    text ? Bind(index, *text) : Bind(index, nullptr);
  }
  void Bind(int index, std::optional<std::int64_t> value) {
    value ? Bind(index, *value) : Bind(index, nullptr);
  }
  void Bind(int index, std::nullptr_t) { sqlite3_bind_null(statement_.get(), index); }

  std::unique_ptr<sqlite3_stmt, Free> statement_;
};

// One connection. Used by one thread at a time.
class Database {
 public:
  // `vfs`: name of the file layer; null: the system's. `busy_ms`: as kBusyMs.
  [[nodiscard]] static Result<Database> Open(const std::string& path, bool writable,
                                             const char* vfs, int busy_ms = kBusyMs);
  [[nodiscard]] Result<void> Execute(const char* sql);
  // The statement of this text, prepared once, and valid as long as the connection. `sql` must live
  // as long, because its address is the key.
  [[nodiscard]] Result<Statement*> Get(const char* sql);
  [[nodiscard]] Result<std::int64_t> Pragma(const char* sql);
  [[nodiscard]] std::int64_t LastRow() const {
    return sqlite3_last_insert_rowid(connection_.get());
  }
  [[nodiscard]] sqlite3* connection() { return connection_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
  std::map<const char*, Statement> statements_;  // after the connection: destroyed before it
};

// Rolls back unless it was committed.
class Transaction {
 public:
  [[nodiscard]] static Result<Transaction> Begin(Database& database, bool write);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  [[nodiscard]] Result<void> Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

// kExhausted: no space; kCorrupt: damaged, or no database; kUnavailable: another connection has
// locked it; kPermissionDenied; else kIo.
[[nodiscard]] Error ErrorFromSqlite(sqlite3* connection, std::string_view context);

}  // namespace profd
