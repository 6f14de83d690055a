#include "daemon/unwind/cfi/mapped_file.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "daemon/process/maps_parser.h"

namespace profd::unwind {
namespace {

Result<MappedFile> OpenRegular(const std::string& name) {
  const auto seen = elf::LookAt(name);
  if (!seen) return seen.error();
  auto found = elf::OpenSeen(*seen);
  if (!found) return found.error();
  MappedFile file;
  file.fd = std::move(found->fd);
  file.stamp = found->stamp;
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

}  // namespace profd::unwind
