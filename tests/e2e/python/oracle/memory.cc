// Memory that can be taken away: preloaded where ORACLE_MEMORY is set, what a program maps for its
// objects is that of files without names. Pages of it that are taken away are restored as they were
// at the next touch, and until then a reader that may not wait cannot read them. So no swap is
// needed.
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#define MARK extern "C" __attribute__((noinline, visibility("default")))

extern "C" void oracle_sleep(std::int64_t ns);

namespace {

constexpr int kSleeps = 150;

struct Part {
  char* begin = nullptr;
  std::size_t bytes = 0;
};

// Of one thread's program: nothing here is locked.
std::array<Part, 4096> parts;
std::size_t part_count = 0;
bool wanted = false;

__attribute__((constructor)) void Begin() { wanted = getenv("ORACLE_MEMORY") != nullptr; }

void* Map(void* address, std::size_t bytes, int prot, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, prot, flags, fd, offset));
}

void* MapAway(void* address, std::size_t bytes, int prot, int flags, int fd, off_t offset) {
  if (!wanted || address != nullptr || flags != (MAP_PRIVATE | MAP_ANONYMOUS) ||
      part_count == parts.size())
    return Map(address, bytes, prot, flags, fd, offset);
  const int file = memfd_create("oracle", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) abort();
  void* mapped = Map(nullptr, bytes, prot, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) parts.at(part_count++) = {static_cast<char*>(mapped), bytes};
  return mapped;
}

}  // namespace

// What the interpreter calls.
extern "C" __attribute__((visibility("default"))) void* mmap(void* address, std::size_t bytes,
                                                             int prot, int flags, int fd,
                                                             off_t offset) noexcept {
  return MapAway(address, bytes, prot, flags, fd, offset);
}
extern "C" __attribute__((visibility("default"))) void* mmap64(void* address, std::size_t bytes,
                                                               int prot, int flags, int fd,
                                                               off64_t offset) noexcept {
  return MapAway(address, bytes, prot, flags, fd, offset);
}
extern "C" __attribute__((visibility("default"))) int munmap(void* address,
                                                             std::size_t bytes) noexcept {
  const auto at = [address](const Part& part) { return part.begin == address; };
  auto* const end = parts.begin() + part_count;
  if (auto* const part = std::find_if(parts.begin(), end, at); part != end) *part = {};
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}

// Takes it all away and sleeps again and again.
MARK void oracle_sleep_away(std::int64_t ns) {
  for (std::size_t i = 0; i < part_count; ++i)
    if (parts.at(i).bytes > 0) madvise(parts.at(i).begin, parts.at(i).bytes, MADV_DONTNEED);
  for (int i = 0; i < kSleeps; ++i) oracle_sleep(ns);
  asm volatile("" ::: "memory");
}
