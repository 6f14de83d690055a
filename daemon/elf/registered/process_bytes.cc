#include "daemon/elf/registered/process_bytes.h"

#include <algorithm>

#include "daemon/base/files.h"

namespace profd::elf {

ProcessBytes::ProcessBytes(int memory, std::uint64_t address, std::uint64_t bytes)
    : ByteSource(std::min(bytes, kMaxAddress - std::min(address, kMaxAddress))),
      memory_(memory),
      address_(address) {}

Result<void> ProcessBytes::ReadInside(std::uint64_t offset, std::span<char> to) const {
  const auto got = ReadAt(memory_, address_ + offset, to, "memory of the process");
  if (!got) return got.error();
  if (*got < to.size()) return Error{ErrorCode::kNotFound, "the process is gone", ""};
  return {};
}

}  // namespace profd::elf
