// PagedMemory: memory whose bytes are read from files when they are first touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::elf {

// For libraries that want a large file in memory but read little of it. A read of a mapped file
// ends in SIGBUS when the owner has cut the file. PagedMemory is anonymous memory with userfaultfd,
// and a thread of its own reads the parts that are touched. Bytes that can no longer be read are
// zero, and damaged() is true. The bytes may change when they are read again after Drop. System
// calls must not use the memory: they would fail. Owned by a DebugImage; used by the thread of its
// DwarfFile.
class PagedMemory {
 public:
  // Bytes [file_offset, file_offset + bytes) of `fd` lie at `at`, a multiple of kPage. The rest is
  // zero. `fd` must outlive this.
  struct Part {
    std::size_t at = 0;
    std::size_t bytes = 0;
    int fd = -1;
    std::uint64_t file_offset = 0;
  };
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kStride = 4 * kPage;  // read at once

  PagedMemory() = default;
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;
  ~PagedMemory();

  // One of the two, once. `parts` ascending, without overlaps, none within the first kStride, which
  // is plain memory to write to. kUnsupported when the kernel lacks userfaultfd.
  [[nodiscard]] Result<void> MapPaged(std::size_t bytes, std::vector<Part> parts);
  // Plain memory, all zero, without a thread.
  [[nodiscard]] Result<void> MapPlain(std::size_t bytes);
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool paged() const { return server_.joinable(); }
  // Bytes that were touched and are held; of plain memory all.
  [[nodiscard]] std::size_t resident() const { return paged() ? resident_.load() : size_; }
  [[nodiscard]] bool damaged() const { return damaged_.load(); }
  // Frees what was read, if paged. No thread may read the memory meanwhile.
  void Drop();

 private:
  [[nodiscard]] Result<void> Reserve(std::size_t bytes);
  void Serve();
  void Provide(std::uint64_t address);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::vector<Part> parts_;
  UniqueFd faults_;
  UniqueFd stop_;
  std::atomic<std::size_t> resident_ = 0;
  std::atomic<bool> damaged_ = false;
  std::string stride_;  // of the serving thread
  std::jthread server_;
};

}  // namespace profd::elf
