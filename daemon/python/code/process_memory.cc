#include "daemon/python/code/process_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace profd::python {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

}  // namespace

bool ProcessMemory::Read(std::uint64_t address, std::span<std::byte> to) const {
  if (to.empty()) return true;
  const iovec local{to.data(), to.size()};
  // An address of the other process: never a pointer of ours.
  const iovec remote{reinterpret_cast<void*>(address),  // NOLINT(performance-no-int-to-ptr)
                     to.size()};
  const ssize_t got = ::process_vm_readv(static_cast<pid_t>(pid_), &local, 1, &remote, 1, 0);
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

bool ProcessMemory::Exists() const {
  return ::kill(static_cast<pid_t>(pid_), 0) == 0 || errno == EPERM;
}

}  // namespace profd::python
