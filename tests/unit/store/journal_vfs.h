// JournalVfs: a file layer of SQLite that writes down what is written, and that can run out of
// space.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace profd::store {

// What a power cut leaves of writes that were not synced.
enum class Unsynced { kLost, kKept, kTorn };

// Registered under its name while it lives; one at a time. Otherwise it does what the system's
// layer does. Used by one thread.
class JournalVfs {
 public:
  static constexpr char kName[] = "profd-journal";
  JournalVfs();
  ~JournalVfs();
  JournalVfs(const JournalVfs&) = delete;
  JournalVfs& operator=(const JournalVfs&) = delete;

  // Writes and syncs so far.
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  // The files, by path, as a power cut right after the first `count` of them leaves them. Torn:
  // every second unsynced write is there, and half of the last one.
  [[nodiscard]] std::map<std::string, std::string> FilesAfter(std::size_t count,
                                                              Unsynced unsynced) const;
  // From now on, writes beyond the present end of files fail with SQLITE_FULL.
  void SetFull(bool full) { full_ = full; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Step {
    enum Kind { kWrite, kTruncate, kSync, kDelete } kind;
    std::string path;
    std::uint64_t offset = 0;
    std::string bytes;
  };
  struct File;
  static void Apply(const Step& step, std::string& content);
  static File& Of(sqlite3_file* file);
  static int Open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out);
  static int Delete(sqlite3_vfs* vfs, const char* path, int sync);
  static int Write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset);
  static int Truncate(sqlite3_file* file, sqlite3_int64 size);
  static int Sync(sqlite3_file* file, int flags);

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  std::vector<Step> steps_;
  bool full_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace profd::store
