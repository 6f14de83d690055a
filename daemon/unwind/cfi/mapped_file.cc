#include "daemon/unwind/cfi/mapped_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "daemon/process/maps_parser.h"

namespace profd::unwind {
namespace {

constexpr unsigned kMinorBits = 20;  // of the kernel's own device numbers

std::int64_t Ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A regular file. Looked at before it is opened: opening a device or a FIFO would be noticed.
Result<MappedFile> OpenRegular(const std::string& name) {
  const UniqueFd seen(::open(name.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!seen.valid() || ::fstat(seen.get(), &status) != 0) return ErrorFromErrno(errno, name);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kUnsupported, "not a regular file", ""};
  const std::string path = "/proc/self/fd/" + std::to_string(seen.get());
  MappedFile file;
  file.fd.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.fd.valid()) return ErrorFromErrno(errno, "cannot open a mapped file");
  file.stamp = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                Ns(status.st_mtim), Ns(status.st_ctim)};
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
  std::array<char, 80> name;
  std::snprintf(name.data(), name.size(), "%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, begin,
                end);
  auto file = OpenRegular(proc.Path(name.data()));
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
