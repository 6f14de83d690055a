#include "daemon/fleet/shared_text.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <new>

namespace profd::fleet {

struct SharedText::Memory {
  struct Slot {
    std::atomic<std::uint32_t> size{0};
    // Atomic, since a reader may copy what is being written; it finds that out by `version`.
    std::array<std::atomic<char>, kMaxBytes> bytes{};
  };
  std::atomic<std::uint64_t> version{0};  // 0: no text yet
  std::array<Slot, 2> slots{};
};

void SharedText::Unmap::operator()(Memory* memory) const { ::munmap(memory, sizeof(Memory)); }

Result<SharedText> SharedText::Make() {
  void* memory =
      ::mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrorFromErrno(errno, "cannot share memory");
  return SharedText(new (memory) Memory);
}

void SharedText::Write(std::string_view text) {
  if (text.size() > kMaxBytes) return;
  const std::uint64_t next = memory_->version.load(std::memory_order_relaxed) + 1;
  Memory::Slot& slot = memory_->slots[next % 2];
  slot.size.store(static_cast<std::uint32_t>(text.size()), std::memory_order_relaxed);
  for (std::size_t i = 0; i < text.size(); ++i)
    slot.bytes[i].store(text[i], std::memory_order_relaxed);
  memory_->version.store(next, std::memory_order_release);
}

std::optional<std::string> SharedText::Read() const {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t version = memory_->version.load(std::memory_order_acquire);
    if (version == 0) return std::nullopt;
    const Memory::Slot& slot = memory_->slots[version % 2];
    const std::size_t size =
        std::min<std::size_t>(slot.size.load(std::memory_order_relaxed), kMaxBytes);
    std::string text(size, '\0');
    for (std::size_t k = 0; k < size; ++k) text[k] = slot.bytes[k].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (memory_->version.load(std::memory_order_relaxed) == version) return text;
  }
  return std::nullopt;
}

}  // namespace profd::fleet
