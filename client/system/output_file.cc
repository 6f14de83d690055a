#include "client/system/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "client/system/fd_stream.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {
namespace {

constexpr mode_t kMode = 0666;  // the umask takes its part
constexpr int kMaxNames = 100;

struct Place {
  std::string path;       // links followed
  std::string directory;  // "." when there is none in the path
  std::string name;
  bool plain = true;  // a regular file, or nothing yet
};

Error CannotWrite(const std::string& path, int error_number) {
  Error error = ErrorFromErrno(error_number, "cannot write " + path);
  error.code = ErrorCode::kIo;  // what is not found or not permitted is not the target
  return error;
}

Result<Place> PlaceOf(const std::string& path) {
  Place place;
  place.path = path;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      return Error{
          ErrorCode::kIo, "cannot write " + path + ": it is a directory",
          "give a file name, as in -o " + path + (path.back() == '/' ? "" : "/") + "profile.svg"};
    place.plain = S_ISREG(status.st_mode);
    char resolved[PATH_MAX];
    if (place.plain && ::realpath(path.c_str(), resolved) != nullptr) place.path = resolved;
  } else if (errno != ENOENT) {
    return CannotWrite(path, errno);
  }
  const std::size_t slash = place.path.rfind('/');
  place.directory = slash == std::string::npos ? "." : place.path.substr(0, slash + 1);
  place.name = slash == std::string::npos ? place.path : place.path.substr(slash + 1);
  if (place.name.empty())
    return Error{ErrorCode::kIo, "cannot write " + path + ": no such directory", ""};
  return place;
}

struct TempFile {
  UniqueFd fd;
  std::string path;
};

// A hidden neighbour of the file to be, so that the rename stays within one file system.
Result<TempFile> MakeTempFile(const Place& place, TempFiles* temp_files) {
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    TempFile file;
    // Short, whatever the name is: a name may be as long as the file system allows.
    file.path = place.directory + "/.profctl-" + std::to_string(::getpid()) + "-" +
                std::to_string(attempt) + ".tmp";
    if (temp_files != nullptr) temp_files->Add(file.path);
    file.fd.Reset(
        ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    if (file.fd.valid()) return file;
    const int error_number = errno;
    if (temp_files != nullptr) temp_files->Forget(file.path);
    if (error_number == EEXIST) continue;
    Error error = CannotWrite(place.path, error_number);
    if (error_number == ENOENT || error_number == EACCES || error_number == EPERM ||
        error_number == EROFS)
      error.hint = "the directory " + place.directory + " must exist and be writable";
    return error;
  }
  return CannotWrite(place.path, EEXIST);
}

Result<void> SyncAndRename(const TempFile& file, const Place& place,
                           const std::optional<InvokingUser>& owner) {
  if (owner && ::fchown(file.fd.get(), owner->uid, owner->gid) != 0)
    return CannotWrite(place.path, errno);
  if (::fsync(file.fd.get()) != 0) return CannotWrite(place.path, errno);
  if (::rename(file.path.c_str(), place.path.c_str()) != 0) return CannotWrite(place.path, errno);
  // Writes the name itself to the disk. Some file systems cannot, which does no harm.
  const UniqueFd directory(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) ::fsync(directory.get());
  return {};
}

Result<std::uint64_t> WriteInPlace(const Place& place, const OutputFile::Writer& writer) {
  const UniqueFd fd(::open(place.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return CannotWrite(place.path, errno);
  return WriteToFd(fd.get(), place.path, writer);
}

}  // namespace

Result<void> OutputFile::Check(const std::string& path) {
  const Result<Place> place = PlaceOf(path);
  if (!place) return place.error();
  if (!place->plain) {
    if (::access(place->path.c_str(), W_OK) != 0) return CannotWrite(path, errno);
    return {};
  }
  const Result<TempFile> probe = MakeTempFile(*place, nullptr);
  if (!probe) return probe.error();
  ::unlink(probe->path.c_str());
  return {};
}

Result<std::uint64_t> OutputFile::Write(const std::string& path, const Writer& writer,
                                        const std::optional<InvokingUser>& owner,
                                        TempFiles& temp_files) {
  const Result<Place> place = PlaceOf(path);
  if (!place) return place.error();
  if (!place->plain) return WriteInPlace(*place, writer);
  const Result<TempFile> file = MakeTempFile(*place, &temp_files);
  if (!file) return file.error();
  Result<std::uint64_t> written = WriteToFd(file->fd.get(), path, writer);
  if (written) {
    if (const Result<void> renamed = SyncAndRename(*file, *place, owner); !renamed)
      written = renamed.error();
  }
  if (!written) ::unlink(file->path.c_str());
  temp_files.Forget(file->path);
  return written;
}

Result<std::uint64_t> WriteToFd(int fd, std::string_view name, const OutputFile::Writer& writer) {
  FdStreambuf buffer(fd);
  std::ostream out(&buffer);
  const Result<void> result = writer(out);
  out.flush();
  if (buffer.error() == EPIPE) return Error{ErrorCode::kIo, "", ""};
  if (buffer.error() != 0) {
    Error error = CannotWrite(std::string(name), buffer.error());
    if (buffer.error() == ENOSPC || buffer.error() == EDQUOT)
      error.hint = "make room there or write elsewhere; nothing was left behind";
    return error;
  }
  if (!result) return result.error().Wrap("cannot write " + std::string(name));
  return buffer.bytes();
}

Result<void> WriteToStdout(std::string_view text) {
  const auto written =
      WriteToFd(STDOUT_FILENO, "standard output", [&](std::ostream& out) -> Result<void> {
        out << text;
        return {};
      });
  return written ? Result<void>{} : written.error();
}

}  // namespace profd::client
