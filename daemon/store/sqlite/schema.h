// Schema: creates the tables of a new database, and migrates older versions.
#pragma once

#include "daemon/base/result.h"
#include "daemon/store/sqlite/database.h"

namespace profd::store {

constexpr std::int64_t kSchemaVersion = 3;

// Configures the connection; for writing, also migrates the file from its version (PRAGMA
// user_version; 0: empty) to kSchemaVersion, each step in one transaction. kUnsupported: the file
// is newer. kCorrupt: it is a database of another program.
[[nodiscard]] Result<void> PrepareForWriting(Database& database);
[[nodiscard]] Result<void> PrepareForReading(Database& database);

// Checks the file with SQLite's own means; reads all of it.
[[nodiscard]] Result<void> CheckIntegrity(Database& database);

}  // namespace profd::store
