#include "daemon/elf/file/file_finder.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <string_view>
#include <utility>
#include <vector>

#include "daemon/process/maps_parser.h"
#include "daemon/source/probe/capabilities.h"

namespace profd::elf {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

bool IsMappedFile(const FileStamp& stamp, const ObjectId& id) {
  return stamp.inode == id.inode && major(stamp.device) == id.device_major &&
         minor(stamp.device) == id.device_minor;
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
    const Result<SeenFile> seen = LookAt(path);
    if (!seen) return attempts.Add(seen.error()), false;
    if (!IsMappedFile(seen->stamp, id) && !known_mapping) {
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
    const Result<SeenFile> seen = LookAt(MapFile(id, wanted));
    if (seen && IsMappedFile(seen->stamp, id)) {
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
  process::ParseMaps(*maps, [&](process::MapsLine&& line) {
    if (line.inode == id.inode && line.device_major == id.device_major &&
        line.device_minor == id.device_minor && mappings.size() < kEnough)
      mappings.push_back({line.start, line.end});
  });
  return mappings;
}

std::string FileFinder::MapFile(const ObjectId& id, Mapping mapping) const {
  return proc_.Path(fmt::format("{}/map_files/{:x}-{:x}", id.pid, mapping.start, mapping.end));
}

}  // namespace profd::elf
