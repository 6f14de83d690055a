#include "daemon/source/perf/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace profd::source {
namespace {

std::size_t PageBytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// Copies ring bytes from `at` on, around the end of the ring.
void CopyOut(std::span<const std::byte> ring, std::uint64_t at, std::span<std::byte> out) {
  const std::size_t offset = at & (ring.size() - 1);
  const std::size_t first = std::min(out.size(), ring.size() - offset);
  std::memcpy(out.data(), ring.data() + offset, first);
  std::memcpy(out.data() + first, ring.data(), out.size() - first);
}

}  // namespace

bool WalkPerfRing(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head,
                  const PerfRecordSink& sink) {
  if (head - tail > ring.size()) return false;
  std::array<std::byte, 65'536> joined;  // a record's size is 16 bits
  while (tail != head) {
    perf_event_header header{};
    if (head - tail < sizeof(header)) return false;
    CopyOut(ring, tail, std::as_writable_bytes(std::span(&header, 1)));
    if (header.size < sizeof(header) || header.size > head - tail) return false;
    const std::size_t offset = tail & (ring.size() - 1);
    if (offset + header.size <= ring.size()) {
      sink(ring.subspan(offset, header.size));
    } else {
      const std::span<std::byte> record(joined.data(), header.size);
      CopyOut(ring, tail, record);
      sink(record);
    }
    tail += header.size;
  }
  return true;
}

void PerfRing::Unmap::operator()(void* address) const { ::munmap(address, bytes); }

Result<PerfRing> PerfRing::Map(const UniqueFd& event, std::size_t data_pages) {
  const std::size_t bytes = (data_pages + 1) * PageBytes();
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
  if (address == MAP_FAILED) {
    Error error = ErrorFromErrno(errno, "cannot map a perf ring");
    error.hint = "raise kernel.perf_event_mlock_kb, or give profd CAP_IPC_LOCK";
    return error;
  }
  return PerfRing(std::unique_ptr<void, Unmap>(address, Unmap{bytes}));
}

bool PerfRing::Drain(const PerfRecordSink& sink) {
  auto* page = static_cast<perf_event_mmap_page*>(mapping_.get());
  const std::span<const std::byte> ring(static_cast<const std::byte*>(mapping_.get()) + PageBytes(),
                                        mapping_.get_deleter().bytes - PageBytes());
  const std::uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
  const std::uint64_t tail = page->data_tail;  // only we write it
  const bool sound = WalkPerfRing(ring, tail, head, sink);
  std::atomic_ref(page->data_tail).store(head, std::memory_order_release);
  return sound;
}

}  // namespace profd::source
