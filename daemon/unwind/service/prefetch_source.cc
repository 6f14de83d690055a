#include "daemon/unwind/service/prefetch_source.h"

#include <sys/mman.h>

#include <cstring>

#include "bpf/shared/events.h"

namespace profd::unwind {

Result<wire::PollStatus> PrefetchSource::Poll(std::chrono::milliseconds timeout, const Sink& sink) {
  return source_.Poll(timeout, [&](const wire::RawEvent& event) {
    See(event);
    sink(event);
  });
}

void PrefetchSource::See(const wire::RawEvent& event) {
  profd_event header;
  if (event.bytes.size() < sizeof header) return;
  std::memcpy(&header, event.bytes.data(), sizeof header);
  if (header.kind == PROFD_EVENT_EXEC) return tables_.Prefetch(header.pid);
  if (header.kind == PROFD_EVENT_PROCESS) return tables_.PrefetchNew(header.pid);
  profd_mmap_event mapping;
  if (header.kind != PROFD_EVENT_MMAP || event.bytes.size() < sizeof mapping) return;
  std::memcpy(&mapping, event.bytes.data(), sizeof mapping);
  if ((mapping.prot & PROT_EXEC) == 0 || mapping.inode == 0) return;
  tables_.Prefetch(
      {header.pid, mapping.address, mapping.address + mapping.bytes},
      {mapping.device_major, mapping.device_minor, mapping.inode, mapping.inode_generation});
}

}  // namespace profd::unwind
