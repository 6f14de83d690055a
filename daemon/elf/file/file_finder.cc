#include "daemon/elf/file/file_finder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/source/probe/capabilities.h"

namespace profd::elf {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

bool IsMappedFile(const struct stat& status, const ObjectId& id) {
  return status.st_ino == id.inode && major(status.st_dev) == id.device_major &&
         minor(status.st_dev) == id.device_minor;
}

std::int64_t Ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A file found but not read: O_PATH does not call into a device driver and does not wait for the
// other end of a FIFO.
struct Seen {
  UniqueFd handle;
  struct stat status {};
};

Result<Seen> Look(const std::string& path) {
  Seen seen;
  seen.handle.Reset(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!seen.handle.valid() || ::fstat(seen.handle.get(), &seen.status) != 0)
    return ErrorFromErrno(errno, path);
  if (!S_ISREG(seen.status.st_mode))
    return Error{ErrorCode::kNotFound, path + ": not a regular file", ""};
  return seen;
}

Result<FoundFile> OpenSeen(const Seen& seen) {
  // The own descriptor, by the own /proc: the file that was looked at, whatever its path means now.
  const std::string path = "/proc/self/fd/" + std::to_string(seen.handle.get());
  FoundFile found;
  found.fd.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!found.fd.valid()) return ErrorFromErrno(errno, "cannot open it");
  found.stamp = FileStamp{seen.status.st_dev, seen.status.st_ino,
                          static_cast<std::uint64_t>(seen.status.st_size), Ns(seen.status.st_mtim),
                          Ns(seen.status.st_ctim)};
  return found;
}

// ": CAP_SYS_PTRACE is missing", of those that open files; "" where none is missing.
std::string MissingRights() {
  std::vector<std::string> names;
  for (const auto& name : source::MissingCapabilities(source::EffectiveCapabilities()))
    if (name == "CAP_SYS_PTRACE" || name == "CAP_DAC_READ_SEARCH" ||
        name == "CAP_CHECKPOINT_RESTORE")
      names.push_back(name);
  if (names.empty()) return {};
  return ": " + source::JoinNames(names) + (names.size() == 1 ? " is missing" : " are missing");
}

// What was tried, in one sentence.
class Attempts {
 public:
  void Add(const Error& error) {
    tried_.push_back(error.message);
    if (error.code == ErrorCode::kPermissionDenied) denied_ = true;
  }
  [[nodiscard]] Error Failure() const {
    if (!denied_) return Error{ErrorCode::kNotFound, "file gone: " + Joined("; "), ""};
    return Error{
        ErrorCode::kPermissionDenied,
        "no right to open the mapped file" + MissingRights() + " (tried " + Joined(", ") + ")", ""};
  }

 private:
  [[nodiscard]] std::string Joined(const char* separator) const {
    std::string text;
    for (const auto& one : tried_) text += (text.empty() ? "" : separator) + one;
    return text;
  }

  std::vector<std::string> tried_;
  bool denied_ = false;
};

}  // namespace

Result<FoundFile> FileFinder::Open(const ObjectId& id) const {
  if (id.inode == 0) return Error{ErrorCode::kNotFound, "not a file", ""};
  Attempts attempts;
  // False when this is not the file, or cannot be had; then `attempts` says why.
  FoundFile found;
  const auto take = [&](const std::string& path, bool known_mapping) {
    const Result<Seen> seen = Look(path);
    if (!seen) return attempts.Add(seen.error()), false;
    if (!IsMappedFile(seen->status, id) && !known_mapping) {
      attempts.Add(Error{ErrorCode::kNotFound, path + ": another file is there now", ""});
      return false;
    }
    Result<FoundFile> opened = OpenSeen(*seen);
    if (!opened) return attempts.Add(opened.error().Wrap(path)), false;
    found = std::move(opened).value();
    return true;
  };

  std::string path = id.path;
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  const bool has_path = path.starts_with('/');
  if (id.pid != 0) {
    const Mapping wanted{id.map_start, id.map_end};
    const Result<Seen> seen = Look(MapFile(id, wanted));
    if (seen && IsMappedFile(seen->status, id)) {
      if (Result<FoundFile> opened = OpenSeen(*seen)) return opened;
    }
    for (const Mapping& mapping : MappingsOf(id)) {
      if (take(MapFile(id, mapping), true)) return found;
    }
    if (!seen) attempts.Add(seen.error());
    if (has_path && take(proc_.Path(std::to_string(id.pid) + "/root" + path), false)) return found;
  }
  if (has_path && take(path, false)) return found;
  return attempts.Failure();
}

std::vector<FileFinder::Mapping> FileFinder::MappingsOf(const ObjectId& id) const {
  constexpr std::size_t kEnough = 3;  // if these cannot be opened, no other will
  std::vector<Mapping> mappings;
  const Result<std::string> maps = proc_.Read(std::to_string(id.pid) + "/maps");
  if (!maps) return mappings;
  std::string_view rest = *maps;
  while (!rest.empty() && mappings.size() < kEnough) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    Mapping mapping;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    std::uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64, &mapping.start,
                    &mapping.end, &device_major, &device_minor, &inode) != 5)
      continue;
    if (inode == id.inode && device_major == id.device_major && device_minor == id.device_minor)
      mappings.push_back(mapping);
  }
  return mappings;
}

std::string FileFinder::MapFile(const ObjectId& id, Mapping mapping) const {
  std::array<char, 64> name;
  std::snprintf(name.data(), name.size(), "/map_files/%" PRIx64 "-%" PRIx64, mapping.start,
                mapping.end);
  return proc_.Path(std::to_string(id.pid) + name.data());
}

}  // namespace profd::elf
