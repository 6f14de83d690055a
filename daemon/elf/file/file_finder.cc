#include "daemon/elf/file/file_finder.h"

#include <sys/sysmacros.h>

#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/proc/maps_parser.h"

namespace profd::elf {
namespace {

using What = reader::OpenRequest::What;

bool IsMappedFile(const FileStamp& stamp, const ObjectId& id) {
  return stamp.inode == id.inode && major(stamp.device) == id.device_major &&
         minor(stamp.device) == id.device_minor;
}

// What was tried, in one sentence.
class Attempts {
 public:
  void Add(const Error& error) {
    if (error.message != last_) tried_ += (tried_.empty() ? "" : "; ") + error.message;
    last_ = error.message;
    if (error.code == ErrorCode::kPermissionDenied) denied_ = true;
  }
  [[nodiscard]] Error Failure() const {
    if (!denied_) return Error{ErrorCode::kNotFound, "file gone: " + tried_, ""};
    return Error{ErrorCode::kPermissionDenied, "(tried " + tried_ + ")", ""};
  }

 private:
  std::string tried_;
  std::string last_;
  bool denied_ = false;
};

}  // namespace

Result<FoundFile> FileFinder::Open(const ObjectId& id) const {
  if (id.inode == 0) return Error{ErrorCode::kNotFound, "not a file", ""};
  Attempts attempts;
  if (id.pid != 0) {
    auto opened = opener_.Open({.what = What::kMapped,
                                .pid = id.pid,
                                .begin = id.map_start,
                                .end = id.map_end,
                                .device_major = id.device_major,
                                .device_minor = id.device_minor,
                                .inode = id.inode});
    if (opened) return FoundIn(*std::move(opened));
    attempts.Add(opened.error());
  }
  const std::string path(WithoutDeleted(id.path));
  for (const What where : {What::kInRoot, What::kOnHost}) {
    if (!path.starts_with('/') || (where == What::kInRoot && id.pid == 0)) continue;
    auto opened = opener_.Open({.what = where, .pid = id.pid, .path = path});
    if (!opened) {
      attempts.Add(opened.error());
      continue;
    }
    FoundFile file = FoundIn(*std::move(opened));
    if (IsMappedFile(file.stamp, id)) return file;
    attempts.Add(Error{ErrorCode::kNotFound, path + ": another file is there now", ""});
  }
  return attempts.Failure();
}

}  // namespace profd::elf
