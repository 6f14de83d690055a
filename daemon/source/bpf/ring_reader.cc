#include "daemon/source/bpf/ring_reader.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <utility>

#include "daemon/wire/event_bytes.h"

namespace profd::source {

void RingReader::Free::operator()(ring_buffer* ring) const { ::ring_buffer__free(ring); }

Result<RingReader> RingReader::Open(const std::vector<Ring>& rings) {
  RingReader reader;
  for (const Ring& ring : rings) {
    auto progress = std::make_unique<Progress>();
    progress->limit_bytes = ring.bytes;
    std::unique_ptr<ring_buffer, Free> opened(
        ::ring_buffer__new(ring.map_fd, OnRecord, progress.get(), nullptr));
    if (!opened) return ErrorFromErrno(errno, "cannot map a BPF ring buffer");
    reader.wait_fds_.push_back(::ring_buffer__epoll_fd(opened.get()));
    reader.rings_.push_back({std::move(progress), std::move(opened)});
  }
  return reader;
}

int RingReader::OnRecord(void* context, void* data, std::size_t size) {
  auto& progress = *static_cast<Progress*>(context);
  constexpr std::uint64_t kRecordHeader = 8;
  progress.bytes += kRecordHeader + size;
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(data), size);
  profd_event header{};
  if (wire::ReadHeader(bytes, &header)) {
    (*progress.sink)(wire::RawEvent{bytes.first(header.size)});
  } else {
    ++progress.malformed;
  }
  return progress.bytes < progress.limit_bytes ? 0 : -EAGAIN;
}

void RingReader::Drain(const Sink& sink) {
  for (OpenRing& ring : rings_) {
    ring.progress->sink = &sink;
    ring.progress->bytes = 0;
    // Errors are only our own -EAGAIN.
    (void)::ring_buffer__consume(ring.ring.get());
    malformed_ += std::exchange(ring.progress->malformed, 0);
  }
}

}  // namespace profd::source
