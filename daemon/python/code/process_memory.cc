#include "daemon/python/code/process_memory.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>

namespace profd::python {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

}  // namespace

bool ProcessMemory::Read(std::uint64_t address, std::span<std::byte> to) const {
  if (to.empty()) return true;
  const ssize_t got = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(address));
  return got == static_cast<ssize_t>(to.size());
}

std::string ProcessMemory::ReadText(std::uint64_t address, std::size_t max_bytes) const {
  std::string text(max_bytes, '\0');
  std::size_t got = 0;
  while (got < max_bytes) {
    // Not beyond a page that is there.
    const std::size_t part =
        std::min<std::size_t>(max_bytes - got, kPageBytes - (address + got) % kPageBytes);
    if (!Read(address + got, std::as_writable_bytes(std::span(text.data() + got, part)))) return {};
    const auto end = text.find('\0', got);
    if (end < got + part) return text.substr(0, end);
    got += part;
  }
  return {};
}

// Memory that is gone has an end, at its beginning; else the page at 0 is there or is not.
bool ProcessMemory::Exists() const {
  char byte = 0;
  return ::pread(fd_, &byte, sizeof byte, 0) != 0;
}

}  // namespace profd::python
