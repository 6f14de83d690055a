// Schema: the tables of the history file, which FORMAT.md describes. Creates them in a new file,
// migrates older versions, and reads and writes the table `state`.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/base/sqlite/database.h"

namespace profd::store {

constexpr std::int64_t kSchemaVersion = 7;

// Configures the connection; for writing, also migrates the file from its version (PRAGMA
// user_version; 0: empty) to kSchemaVersion, each step in one transaction. kUnsupported: the file
// is newer. kCorrupt: it is a database of another program.
[[nodiscard]] Result<void> PrepareForWriting(Database& database);
[[nodiscard]] Result<void> PrepareForReading(Database& database);

// Checks the file with SQLite's own means; reads all of it.
[[nodiscard]] Result<void> CheckIntegrity(Database& database);

// A number in the table `state`; 0: it was never written.
[[nodiscard]] Result<std::int64_t> ReadState(Database& database, std::string_view name);
[[nodiscard]] Result<void> WriteState(Database& database, std::string_view name,
                                      std::int64_t value);

// The number that no other file has, kept in `state` as "file"; 0: it has none yet.
[[nodiscard]] Result<std::int64_t> FileIdentity(Database& database);
// Gives the file a random one if it has none.
[[nodiscard]] Result<void> IdentifyFile(Database& database);

}  // namespace profd::store
