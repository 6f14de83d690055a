#include "daemon/unwind/cfi/mapped_file.h"

#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <optional>
#include <string>
#include <utility>

#include "daemon/process/maps_parser.h"

namespace profd::unwind {
namespace {

constexpr unsigned kMinorBits = 20;  // of the kernel's own device numbers

Result<MappedFile> OpenRegular(const std::string& name) {
  const auto seen = elf::LookAt(name);
  if (!seen) return seen.error();
  auto found = elf::OpenSeen(*seen);
  if (!found) return found.error();
  MappedFile file;
  file.fd = std::move(found->fd);
  file.stamp = found->stamp;
  struct statfs system {};
  file.overlay = ::fstatfs(file.fd.get(), &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
  return file;
}

// For a profd without the rights to map_files: by its path, if the file there is still the same.
std::optional<MappedFile> OpenByPath(const ProcFs& proc, std::uint32_t pid, std::uint64_t begin,
                                     std::uint64_t end) {
  const auto maps = proc.Read(std::to_string(pid) + "/maps");
  std::optional<process::MapsLine> mapped;
  if (!maps) return std::nullopt;
  process::ParseMaps(*maps, [&](process::MapsLine&& line) {
    if (line.start == begin && line.end == end) mapped = std::move(line);
  });
  if (!mapped || !mapped->path.starts_with('/')) return std::nullopt;
  for (const auto& root : {proc.Path(std::to_string(pid) + "/root"), std::string()}) {
    auto file = OpenRegular(root + mapped->path);
    if (file && file->stamp.inode == mapped->inode) return *std::move(file);
  }
  return std::nullopt;
}

}  // namespace

Result<MappedFile> OpenMappedFile(const ProcFs& proc, std::uint32_t pid, std::uint64_t begin,
                                  std::uint64_t end) {
  auto file = OpenRegular(proc.Path(fmt::format("{}/map_files/{:x}-{:x}", pid, begin, end)));
  if (file || file.error().code == ErrorCode::kNotFound) return file;
  auto by_path = OpenByPath(proc, pid, begin, end);
  if (by_path) return *std::move(by_path);
  return file;
}

bool Fits(const MappedFile& file, const profd_file_key& key) {
  return (file.overlay || file.stamp.inode == key.inode) && file.stamp.bytes == key.size &&
         static_cast<std::uint64_t>(file.stamp.modified_ns) == key.mtime_ns;
}

profd_file_key LikelyKey(const MappedFile& file) {
  profd_file_key key{};
  key.inode = file.stamp.inode;
  key.size = file.stamp.bytes;
  key.mtime_ns = static_cast<std::uint64_t>(file.stamp.modified_ns);
  key.device = major(file.stamp.device) << kMinorBits | minor(file.stamp.device);
  int generation = 0;  // the kernel writes an int, whatever the request's number says
  if (::ioctl(file.fd.get(), FS_IOC_GETVERSION, &generation) == 0)
    key.generation = static_cast<__u32>(generation);
  return key;
}

}  // namespace profd::unwind
