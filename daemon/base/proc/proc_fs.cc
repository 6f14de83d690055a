#include "daemon/base/proc/proc_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <memory>

#include "daemon/base/files.h"
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
  auto content = ReadAll(fd.get(), full, max_bytes);
  if (!content && content.error().code == ErrorCode::kExhausted)
    return Error{ErrorCode::kIo, content.error().message, ""};
  return content;
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
