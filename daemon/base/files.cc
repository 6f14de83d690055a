#include "daemon/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>

#include "daemon/base/unique_fd.h"

namespace profd {

Result<std::string> ReadAll(int fd, std::string_view name, std::size_t max_bytes) {
  std::string content;
  std::array<char, 65'536> chunk;  // most files are small: clearing it would cost more than they do
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorFromErrno(errno, fmt::format("cannot read {}", name));
    if (got == 0) return content;
    if (static_cast<std::size_t>(got) > max_bytes - content.size()) {
      return Error{ErrorCode::kExhausted,
                   fmt::format("{} is longer than {} bytes", name, max_bytes), ""};
    }
    content.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot read " + path);
  return ReadAll(fd.get(), path, max_bytes);
}

Result<std::size_t> ReadAt(int fd, std::uint64_t offset, std::span<char> to,
                           std::string_view context) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got =
        ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorFromErrno(errno, context);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string HexBytes(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes)
    fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string HexNumber(std::uint64_t number) { return fmt::format("{:#x}", number); }

}  // namespace profd
