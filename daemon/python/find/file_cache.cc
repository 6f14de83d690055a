#include "daemon/python/find/file_cache.h"

#include <utility>

#include "daemon/unwind/cfi/mapped_file.h"

namespace profd::python {

std::shared_ptr<const RuntimeFile> FileCache::Find(std::uint32_t pid,
                                                   const ModuleMapping& mapping) {
  auto mapped = unwind::OpenMappedFile(proc_, pid, mapping.begin, mapping.end);
  if (!mapped) return nullptr;
  const elf::FileStamp stamp = mapped->stamp;
  if (const auto* known = files_.Find(stamp); known != nullptr) return *known;
  std::shared_ptr<const RuntimeFile> file;
  if (auto found = FindRuntime(elf::FileBytes(mapped->fd.get(), stamp.bytes)))
    file = std::make_shared<const RuntimeFile>(*std::move(found));
  return files_.Put(stamp, std::move(file));
}

}  // namespace profd::python
