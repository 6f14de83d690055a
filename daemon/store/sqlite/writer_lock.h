// WriterLock: one process at a time puts windows into a history.
#pragma once

#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::store {

// Holds the lock as long as it lives; the kernel releases it if the process is killed. It locks a
// file of its own, "PATH.lock", because SQLite locks parts of the history file itself, and because
// a damaged history file is renamed.
class WriterLock {
 public:
  // kUnavailable: another process holds it, or this one does.
  [[nodiscard]] static Result<WriterLock> Take(const std::string& path);

 private:
  explicit WriterLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace profd::store
