#include "daemon/source/bpf/wanted_ring.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>

namespace profd::source {

void WantedRing::Free::operator()(ring_buffer* ring) const { ::ring_buffer__free(ring); }

Result<WantedRing> WantedRing::Open(int map_fd) {
  WantedRing wanted;
  wanted.progress_ = std::make_unique<Progress>();
  const ring_buffer_sample_fn on_record = [](void* context, void* data, std::size_t size) {
    auto& progress = *static_cast<Progress*>(context);
    profd_wanted request;
    if (size == sizeof request) {
      std::memcpy(&request, data, sizeof request);
      (*progress.sink)(request);
    }
    return --progress.left > 0 ? 0 : -EAGAIN;
  };
  wanted.ring_.reset(::ring_buffer__new(map_fd, on_record, wanted.progress_.get(), nullptr));
  if (!wanted.ring_) return ErrorFromErrno(errno, "cannot map a BPF ring buffer");
  wanted.wait_fd_ = ::ring_buffer__epoll_fd(wanted.ring_.get());
  return wanted;
}

void WantedRing::Drain(const Sink& sink) {
  progress_->sink = &sink;
  progress_->left = kMaxDrained;
  // Errors are only our own -EAGAIN.
  (void)::ring_buffer__consume(ring_.get());
}

}  // namespace profd::source
