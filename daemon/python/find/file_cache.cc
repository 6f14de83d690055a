#include "daemon/python/find/file_cache.h"

#include <utility>

#include "daemon/elf/file/byte_source.h"

namespace profd::python {

Result<FileCache::Found> FileCache::Look(reader::FileOpener& opener, std::uint32_t pid,
                                         const MapsLine& line) {
  const auto opened = opener.Open({.what = reader::OpenRequest::What::kMapped,
                                   .pid = pid,
                                   .begin = line.start,
                                   .end = line.end});
  if (!opened) return opened.error();
  const elf::FileStamp stamp = elf::StampOf(*opened);
  if (const auto* known = files_.Find(stamp); known != nullptr) return *known;
  Found file;
  if (auto found = FindRuntime(elf::FileBytes(opened->fd.get(), stamp.bytes)))
    file = std::make_shared<const RuntimeFile>(*std::move(found));
  return files_.Put(stamp, std::move(file));
}

Result<FileCache::Found> FileCache::Find(reader::FileOpener& opener, std::uint32_t pid,
                                         const MapsLine& line) {
  const Place place{std::uint64_t{line.device_major} << 32 | line.device_minor, line.inode,
                    line.path};
  const Time now = std::chrono::steady_clock::now();
  const Time* since = without_.Find(place);
  if (since != nullptr && now - *since < kTrusted) return Found();
  auto file = Look(opener, pid, line);
  if (file && *file == nullptr) without_.Put(place, now);
  return file;
}

}  // namespace profd::python
