// Schema: makes a database ours, and brings older ones up to date.
#pragma once

#include "daemon/base/result.h"
#include "daemon/store/sqlite/database.h"

namespace profd::store {

constexpr std::int64_t kSchemaVersion = 3;

// Settings of a connection, then each step from the file's version (PRAGMA user_version; 0: empty)
// to kSchemaVersion, a transaction each. kUnsupported for a newer one; kCorrupt for a database
// that is not ours.
[[nodiscard]] Result<void> PrepareForWriting(Database& database);
[[nodiscard]] Result<void> PrepareForReading(Database& database);

// Whether SQLite finds the file sound; reads all of it.
[[nodiscard]] Result<void> CheckIntegrity(Database& database);

}  // namespace profd::store
