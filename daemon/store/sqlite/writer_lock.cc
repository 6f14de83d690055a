#include "daemon/store/sqlite/writer_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

namespace profd::store {

Result<WriterLock> WriterLock::Take(const std::string& path) {
  const std::string name = path + ".lock";
  UniqueFd file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return ErrorFromErrno(errno, "cannot open " + name);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return WriterLock(std::move(file));
  if (errno != EWOULDBLOCK) return ErrorFromErrno(errno, "cannot lock " + name);
  return Error{ErrorCode::kUnavailable, "another profd keeps its history in " + path,
               "stop it, or give this one another --history-directory"};
}

}  // namespace profd::store
