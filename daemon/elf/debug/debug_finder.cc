#include "daemon/elf/debug/debug_finder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <utility>

#include "daemon/base/files.h"

namespace profd::elf {
namespace {

constexpr std::string_view kDebugRoot = "/usr/lib/debug";
constexpr std::uint64_t kMaxChecksummed = 256u << 20;

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
}

Result<std::uint32_t> ChecksumOf(int fd, std::uint64_t bytes) {
  if (bytes > kMaxChecksummed) return BeyondBound("bytes to checksum", bytes, kMaxChecksummed);
  std::string buffer(256u << 10, '\0');
  uLong crc = ::crc32(0, nullptr, 0);
  for (std::uint64_t at = 0;; at += buffer.size()) {
    const auto got = ReadAt(fd, at, buffer, "cannot read it");
    if (!got) return got.error();
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(buffer.data()), static_cast<uInt>(*got));
    if (*got < buffer.size()) return static_cast<std::uint32_t>(crc);
  }
}

// A regular file below `root`, wherever links in it point.
UniqueFd OpenBelow(const UniqueFd& root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  struct stat status {};
  // Looked at first: opening a device could do something.
  open_how look = how;
  look.flags = O_PATH | O_CLOEXEC;
  UniqueFd seen(
      static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &look, sizeof look)));
  if (!seen.valid()) return seen;
  if (::fstat(seen.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    errno = ENOENT;
    return UniqueFd();
  }
  const std::string by_fd = "/proc/self/fd/" + std::to_string(seen.get());
  return UniqueFd(::open(by_fd.c_str(), static_cast<int>(how.flags)));
}

}  // namespace

std::string BuildIdPath(std::string_view build_id) {
  if (build_id.size() < 4) return "";
  return std::string(kDebugRoot) + "/.build-id/" + std::string(build_id.substr(0, 2)) + "/" +
         std::string(build_id.substr(2)) + ".debug";
}

// One search: the roots, and what was tried in them.
class DebugFinder::Attempt {
 public:
  Attempt(const DebugFinder& finder, const ObjectId& id, const ElfLimits& limits)
      : limits_(limits) {
    if (id.pid != 0) AddRoot(finder.proc_.Path(std::to_string(id.pid) + "/root"));
    AddRoot("/");
  }

  // `crc`: required of a file that cannot be told by its build id.
  bool Take(const std::string& path, const std::string& build_id, const std::uint32_t* crc) {
    for (const UniqueFd& root : roots_) {
      UniqueFd fd = OpenBelow(root, path);
      if (!fd.valid()) {
        if (errno != ENOENT && errno != ENOTDIR) Refuse(path, ErrorFromErrno(errno, "").message);
        continue;
      }
      if (TakeOpened(path, std::move(fd), build_id, crc)) return true;
    }
    if (!refused_) Refuse(path, "none");
    refused_ = false;
    return false;
  }

  [[nodiscard]] FoundDebugFile&& found() { return std::move(found_); }
  [[nodiscard]] Error Failure() const {
    return Error{ErrorCode::kNotFound, tried_.empty() ? "nothing to look for" : tried_, ""};
  }

 private:
  void AddRoot(const std::string& path) {
    UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!root.valid() || ::fstat(root.get(), &status) != 0) return;
    // Most processes have our own root: once is enough.
    if (!roots_.empty() && status.st_ino == inode_ && status.st_dev == device_) return;
    inode_ = status.st_ino;
    device_ = status.st_dev;
    roots_.push_back(std::move(root));
  }

  bool TakeOpened(const std::string& path, UniqueFd fd, const std::string& build_id,
                  const std::uint32_t* crc) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return false;
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    Result<ElfContents> contents = ReadElfContents(fd.get(), bytes, limits_, ElfKind::kAny);
    if (!contents) return Refuse(path, contents.error().message);
    const std::string& id = contents->info.build_id;
    if (!id.empty() && !build_id.empty()) {
      if (id != build_id) return Refuse(path, "of another build");
    } else if (crc != nullptr) {
      const Result<std::uint32_t> sum = ChecksumOf(fd.get(), bytes);
      if (!sum) return Refuse(path, sum.error().message);
      if (*sum != *crc) return Refuse(path, "of another build (checksum)");
    } else {
      return Refuse(path, "has no build id to know it by");
    }
    const auto ns = [](const timespec& time) {
      return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    found_.stamp =
        FileStamp{status.st_dev, status.st_ino, bytes, ns(status.st_mtim), ns(status.st_ctim)};
    found_.fd = std::move(fd);
    found_.path = path;
    found_.contents = std::move(contents).value();
    return true;
  }

  bool Refuse(const std::string& path, const std::string& why) {
    if (!tried_.empty()) tried_ += ", ";
    tried_ += path + ": " + why;
    refused_ = true;
    return false;
  }

  const ElfLimits& limits_;
  std::vector<UniqueFd> roots_;
  std::uint64_t inode_ = 0;
  std::uint64_t device_ = 0;
  std::string tried_;
  bool refused_ = false;
  FoundDebugFile found_;
};

Result<FoundDebugFile> DebugFinder::Find(const ObjectId& id, const std::string& build_id,
                                         const DebugLinks& links, const ElfLimits& limits) const {
  Attempt attempt(*this, id, limits);
  const std::string by_id = BuildIdPath(build_id);
  if (!by_id.empty() && attempt.Take(by_id, build_id, nullptr)) return attempt.found();
  // A name with a slash would lead elsewhere.
  if (!links.debuglink.empty() && links.debuglink.find('/') == std::string::npos) {
    const std::string folder = FolderOf(id.path);
    for (const std::string& place :
         {folder, folder + "/.debug", std::string(kDebugRoot) + folder}) {
      const std::string path = place + "/" + links.debuglink;
      if (path != id.path && attempt.Take(path, build_id, &links.debuglink_crc))
        return attempt.found();
    }
  }
  return attempt.Failure();
}

Result<FoundDebugFile> DebugFinder::TakeDownloaded(const std::string& path,
                                                   const std::string& build_id,
                                                   const ElfLimits& limits) const {
  Attempt attempt(*this, ObjectId{}, limits);
  if (attempt.Take(path, build_id, nullptr)) return attempt.found();
  return attempt.Failure();
}

Result<UniqueFd> DebugFinder::FindAlternate(const ObjectId& id, const std::string& path,
                                            const DebugLinks& links,
                                            const ElfLimits& limits) const {
  Attempt attempt(*this, id, limits);
  const std::string named =
      links.alternate.starts_with('/') ? links.alternate : FolderOf(path) + "/" + links.alternate;
  for (const std::string& place : {named, BuildIdPath(links.alternate_build_id)}) {
    if (!place.empty() && attempt.Take(place, links.alternate_build_id, nullptr))
      return std::move(attempt.found().fd);
  }
  return attempt.Failure();
}

}  // namespace profd::elf
