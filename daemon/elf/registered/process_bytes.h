// ProcessBytes: a piece of another process's memory, as the source of a parser.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"

namespace profd::elf {

// Offsets count from `address`. What is read may be half changed, as nothing is stopped; a read may
// take as long as the file system that the memory is mapped from, so only reader processes use
// this.
class ProcessBytes : public ByteSource {
 public:
  static constexpr std::uint64_t kMaxAddress = 1ull << 47;

  // `memory`: /proc/PID/mem, open for reading; the caller owns it, and it outlives this. What lies
  // beyond kMaxAddress is not there.
  ProcessBytes(int memory, std::uint64_t address, std::uint64_t bytes);

 private:
  [[nodiscard]] Result<void> ReadInside(std::uint64_t offset, std::span<char> to) const override;

  int memory_;
  std::uint64_t address_;
};

}  // namespace profd::elf
