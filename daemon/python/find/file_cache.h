// FileCache: which mapped files hold an interpreter; each file is read once.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/base/lru_cache.h"
#include "daemon/base/proc_fs.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/python/find/attachment.h"
#include "daemon/python/find/runtime_finder.h"

namespace profd::python {

// By device, inode, size and times, so that a file that is replaced is read again. Keeps the
// answers for the kMaxFiles files that were requested last. Used by one thread.
class FileCache {
 public:
  static constexpr std::size_t kMaxFiles = 65'536;

  explicit FileCache(ProcFs proc) : proc_(std::move(proc)) {}
  // Null: no interpreter, or the mapping is gone.
  [[nodiscard]] std::shared_ptr<const RuntimeFile> Find(std::uint32_t pid,
                                                        const ModuleMapping& mapping);

 private:
  const ProcFs proc_;
  LruCache<elf::FileStamp, std::shared_ptr<const RuntimeFile>> files_{kMaxFiles};
};

}  // namespace profd::python
