// WriterLock: one process at a time puts windows into a history.
#pragma once

#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::store {

// Held as long as it lives, also where the process is killed. A file of its own, "PATH.lock":
// SQLite locks parts of the history itself, and sets a damaged one aside.
class WriterLock {
 public:
  // kUnavailable: another process holds it, or this one does.
  [[nodiscard]] static Result<WriterLock> Take(const std::string& path);

 private:
  explicit WriterLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace profd::store
