#include "daemon/elf/debug/debug_finder.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "daemon/elf/file/byte_source.h"

namespace profd::elf {
namespace {

constexpr std::string_view kDebugRoot = "/usr/lib/debug";
constexpr std::uint64_t kMaxChecksummed = 256u << 20;

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
}

Result<std::uint32_t> ChecksumOf(const ByteSource& file) {
  if (file.size() > kMaxChecksummed)
    return BeyondBound("bytes to checksum", file.size(), kMaxChecksummed);
  constexpr std::uint64_t kPiece = 256u << 10;
  uLong crc = ::crc32(0, nullptr, 0);
  for (std::uint64_t at = 0; at < file.size(); at += kPiece) {
    const auto piece = file.Copy(at, std::min(kPiece, file.size() - at));
    if (!piece) return piece.error();
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(piece->data()),
                  static_cast<uInt>(piece->size()));
  }
  return static_cast<std::uint32_t>(crc);
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
      : opener_(finder.opener_), pid_(id.pid), limits_(limits) {}

  // `crc`: required of a file without a build id.
  bool Take(const std::string& path, const std::string& build_id, const std::uint32_t* crc) {
    using What = reader::OpenRequest::What;
    for (const What where : {What::kInRoot, What::kOnHost}) {
      if (where == What::kInRoot && pid_ == 0) continue;
      auto opened = opener_.Open({.what = where, .pid = pid_, .path = path});
      if (!opened && opened.error().code == ErrorCode::kNotFound) continue;
      if (!opened)
        Refuse(opened.error().message);
      else if (TakeOpened(path, FoundIn(*std::move(opened)), build_id, crc))
        return true;
    }
    if (!refused_) Refuse(path, "none");
    refused_ = false;
    return false;
  }

  bool TakeOpened(const std::string& path, FoundFile file, const std::string& build_id,
                  const std::uint32_t* crc) {
    const FileBytes bytes(file.fd.get(), file.stamp.bytes);
    Result<ElfContents> contents = ReadElfContents(bytes, limits_, ElfKind::kAny);
    if (!contents) return Refuse(path, contents.error().message);
    const std::string& id = contents->info.build_id;
    if (!id.empty() && !build_id.empty()) {
      if (id != build_id) return Refuse(path, "of another build");
    } else if (crc != nullptr) {
      const Result<std::uint32_t> sum = ChecksumOf(bytes);
      if (!sum) return Refuse(path, sum.error().message);
      if (*sum != *crc) return Refuse(path, "of another build (checksum)");
    } else {
      return Refuse(path, "has no build id to know it by");
    }
    found_.stamp = file.stamp;
    found_.fd = std::move(file.fd);
    found_.path = path;
    found_.contents = std::move(contents).value();
    return true;
  }

  [[nodiscard]] FoundDebugFile&& found() { return std::move(found_); }
  [[nodiscard]] Error Failure() const {
    return Error{ErrorCode::kNotFound, tried_.empty() ? "nothing to look for" : tried_, ""};
  }

 private:
  bool Refuse(const std::string& path, const std::string& why) { return Refuse(path + ": " + why); }
  bool Refuse(const std::string& what) {
    // Most processes have profd's own root: there both places are one.
    if (what != last_) tried_ += (tried_.empty() ? "" : ", ") + what;
    last_ = what;
    refused_ = true;
    return false;
  }

  reader::FileOpener& opener_;
  const std::uint32_t pid_;
  const ElfLimits& limits_;
  std::string tried_;
  std::string last_;
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

Result<FoundDebugFile> DebugFinder::TakeDownloaded(UniqueFd fd, const std::string& path,
                                                   const std::string& build_id,
                                                   const ElfLimits& limits) const {
  auto file = FoundIn(std::move(fd));
  if (!file) return file.error();
  Attempt attempt(*this, ObjectId{}, limits);
  if (attempt.TakeOpened(path, *std::move(file), build_id, nullptr)) return attempt.found();
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
