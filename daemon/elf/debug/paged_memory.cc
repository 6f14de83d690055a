#include "daemon/elf/debug/paged_memory.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "daemon/base/files.h"

namespace profd::elf {

Result<void> PagedMemory::Reserve(std::size_t bytes) {
  size_ = (bytes + kStride - 1) / kStride * kStride;
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ErrorFromErrno(errno, "cannot reserve memory for the file");
  data_ = static_cast<char*>(memory);
  return {};
}

Result<void> PagedMemory::MapPlain(std::size_t bytes) {
  PROFD_TRY(Reserve(bytes));
  // All of it is about to be written: a fault for each page would cost a tenth of a first answer.
  ::madvise(data_, size_, MADV_HUGEPAGE);
  return {};
}

Result<void> PagedMemory::MapPaged(std::size_t bytes, std::vector<Part> parts) {
  PROFD_TRY(Reserve(std::max(bytes, 2 * kStride)));
  parts_ = std::move(parts);
  faults_.Reset(
      static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  if (!faults_.valid())
    return Error{ErrorCode::kUnsupported, "this kernel has no userfaultfd for large files", ""};
  uffdio_api api{};
  api.api = UFFD_API;
  if (::ioctl(faults_.get(), UFFDIO_API, &api) != 0) return ErrorFromErrno(errno, "userfaultfd");
  stop_.Reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid()) return ErrorFromErrno(errno, "eventfd");
  ::madvise(data_, size_, MADV_NOHUGEPAGE);  // one would be requested at once
  uffdio_register range{};
  range.range.start = reinterpret_cast<std::uintptr_t>(data_) + kStride;
  range.range.len = size_ - kStride;
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (::ioctl(faults_.get(), UFFDIO_REGISTER, &range) != 0)
    return ErrorFromErrno(errno, "userfaultfd");
  server_ = std::jthread([this] { Serve(); });
  return {};
}

PagedMemory::~PagedMemory() {
  if (server_.joinable()) {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    server_.join();
  }
  if (data_ != nullptr) ::munmap(data_, size_);
}

void PagedMemory::Drop() {
  if (!paged()) return;
  ::madvise(data_ + kStride, size_ - kStride, MADV_DONTNEED);
  resident_ = 0;
}

void PagedMemory::Serve() {
  for (;;) {
    std::array<pollfd, 2> waits{pollfd{faults_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    uffd_msg message;
    if (::read(faults_.get(), &message, sizeof message) != sizeof message) continue;
    if (message.event == UFFD_EVENT_PAGEFAULT) Provide(message.arg.pagefault.address);
  }
}

void PagedMemory::Provide(std::uint64_t address) {
  const auto base = reinterpret_cast<std::uintptr_t>(data_);
  const std::size_t begin = (address - base) / kStride * kStride;
  stride_.assign(kStride, '\0');
  for (const Part& part : parts_) {
    const std::size_t from = std::max(begin, part.at);
    const std::size_t to = std::min(begin + kStride, part.at + part.bytes);
    if (from >= to) continue;
    const auto got = ReadAt(part.fd, part.file_offset + (from - part.at),
                            std::span(stride_).subspan(from - begin, to - from), "");
    if (!got || *got < to - from) damaged_ = true;
  }
  // Page by page: some of them may be there. One that is wakes its reader all the same.
  for (std::size_t page = 0; page < kStride; page += kPage) {
    uffdio_copy copy{};
    copy.dst = base + begin + page;
    copy.src = reinterpret_cast<std::uintptr_t>(stride_.data()) + page;
    copy.len = kPage;
    while (::ioctl(faults_.get(), UFFDIO_COPY, &copy) != 0) {
      if (errno == EAGAIN) continue;
      uffdio_range wake{copy.dst, kPage};
      ::ioctl(faults_.get(), UFFDIO_WAKE, &wake);
      break;
    }
    if (copy.copy == static_cast<std::int64_t>(kPage)) resident_ += kPage;
  }
}

}  // namespace profd::elf
