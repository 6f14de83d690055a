#include "daemon/base/proc_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <memory>

#include "daemon/base/unique_fd.h"

namespace profd {

std::string ProcFs::Path(std::string_view path) const {
  std::string full = root_;
  if (!path.empty()) full.append("/").append(path);
  return full;
}

Result<std::string> ProcFs::Read(std::string_view path, std::size_t max_bytes) const {
  const std::string full = Path(path);
  const UniqueFd fd(::open(full.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot open " + full);
  std::string content;
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorFromErrno(errno, "cannot read " + full);
    if (got == 0) return content;
    if (content.size() + static_cast<std::size_t>(got) > max_bytes) {
      return Error{ErrorCode::kIo, full + " is longer than " + std::to_string(max_bytes) + " bytes",
                   ""};
    }
    content.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

Result<std::string> ProcFs::ReadLink(std::string_view path) const {
  const std::string full = Path(path);
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlink(full.c_str(), target.data(), target.size());
  if (length < 0) return ErrorFromErrno(errno, "cannot read link " + full);
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<std::vector<std::uint32_t>> ProcFs::ListNumbers(std::string_view path) const {
  const std::string full = Path(path);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(full.c_str()), ::closedir);
  if (!directory) return ErrorFromErrno(errno, "cannot list " + full);
  std::vector<std::uint32_t> numbers;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace profd
