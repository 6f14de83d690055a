// ProcessMemory: reads the memory of another process, as it is at that moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace profd::python {

// The memory of a process through /proc/PID/mem; nothing is stopped or held, so what is read may be
// half changed. Every read is as long as its caller says and no longer, and may take as long as the
// file system that the memory is mapped from: only reader processes use this. Stateless.
class ProcessMemory {
 public:
  // The caller owns the descriptor, which outlives this and all copies.
  explicit ProcessMemory(int fd) : fd_(fd) {}

  // All of it or false: the process is gone, or the memory is not mapped.
  [[nodiscard]] bool Read(std::uint64_t address, std::span<std::byte> to) const;
  template <typename T>
  [[nodiscard]] bool Get(std::uint64_t address, T* value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return Read(address, std::as_writable_bytes(std::span(value, 1)));
  }
  // At most `max_bytes` of a C string; empty when it is not there, or not ended by then.
  [[nodiscard]] std::string ReadText(std::uint64_t address, std::size_t max_bytes) const;
  // Whether the process still has this memory: it has neither ended nor executed another program.
  [[nodiscard]] bool Exists() const;

 private:
  int fd_;
};

}  // namespace profd::python
