// ProcessMemory: reads the memory of another process, as it is at that moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace profd::python {

// A process by its number; nothing is stopped or held, so what is read may be half changed. Every
// read is as long as its caller says and no longer. Stateless; safe from any thread.
class ProcessMemory {
 public:
  explicit ProcessMemory(std::uint32_t pid) : pid_(pid) {}

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  // All of it or false: the process is gone, the memory is not mapped, or a right is missing.
  [[nodiscard]] bool Read(std::uint64_t address, std::span<std::byte> to) const;
  template <typename T>
  [[nodiscard]] bool Get(std::uint64_t address, T* value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return Read(address, std::as_writable_bytes(std::span(value, 1)));
  }
  // At most `max_bytes` of a C string; empty when it is not there, or not ended by then.
  [[nodiscard]] std::string ReadText(std::uint64_t address, std::size_t max_bytes) const;
  // Whether there is such a process, and it has memory.
  [[nodiscard]] bool Exists() const;

 private:
  std::uint32_t pid_;
};

}  // namespace profd::python
