// Events of the life of processes, for tests. Keys follow from the numbers: start times are the
// pid or tid plus `start`.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <string>

#include "daemon/wire/event.h"

namespace profd::test {

inline wire::EventHeader HeaderAt(std::uint64_t time_ns, std::uint32_t pid, std::uint32_t tid = 0,
                                  std::uint64_t start = 1'000) {
  wire::EventHeader header;
  header.time_ns = time_ns;
  header.process = {pid, pid + start};
  header.thread = {tid == 0 ? pid : tid, (tid == 0 ? pid : tid) + start};
  header.sessions = 1;
  return header;
}

inline wire::ForkEvent ForkAt(std::uint64_t time_ns, std::uint32_t parent, std::uint32_t child,
                              std::string comm) {
  wire::ForkEvent event;
  event.header = HeaderAt(time_ns, child);
  event.new_process = true;
  event.parent_pid = parent;
  event.parent_tid = parent;
  event.parent_process_start_ns = parent + 1'000;
  event.comm = std::move(comm);
  return event;
}

inline wire::CommEvent CommAt(std::uint64_t time_ns, std::uint32_t pid, std::uint32_t tid,
                              std::string comm) {
  wire::CommEvent event;
  event.header = HeaderAt(time_ns, pid, tid);
  event.comm = std::move(comm);
  return event;
}

inline wire::ExecEvent ExecAt(std::uint64_t time_ns, std::uint32_t pid, std::string path,
                              std::string comm) {
  wire::ExecEvent event;
  event.header = HeaderAt(time_ns, pid);
  event.old_tid = pid;
  event.path = std::move(path);
  event.comm = std::move(comm);
  return event;
}

inline wire::ExitEvent ExitAt(std::uint64_t time_ns, std::uint32_t pid, bool last_thread = true) {
  wire::ExitEvent event;
  event.header = HeaderAt(time_ns, pid);
  event.last_thread = last_thread;
  return event;
}

// An executable mapping of a file whose inode is the length of its path.
inline wire::MmapEvent MmapAt(std::uint64_t time_ns, std::uint32_t pid, std::uint64_t address,
                              std::uint64_t bytes, std::string path,
                              std::uint64_t file_offset = 0) {
  wire::MmapEvent event;
  event.header.time_ns = time_ns;
  event.header.process.pid = pid;
  event.header.thread.tid = pid;
  event.address = address;
  event.bytes = bytes;
  event.file_offset = file_offset;
  event.prot = PROT_READ | PROT_EXEC;
  event.device_major = path.empty() ? 0 : 8;
  event.inode = path.size();
  event.path = std::move(path);
  return event;
}

inline wire::ProcessEvent ProcessAt(std::uint64_t time_ns, std::uint32_t pid, std::string maps,
                                    std::string comm = "listed\n") {
  wire::ProcessEvent event;
  event.header = HeaderAt(time_ns, pid);
  event.header.thread.start_ns = 0;
  event.blobs[PROFD_BLOB_COMM] = std::move(comm);
  event.blobs[PROFD_BLOB_MAPS] = std::move(maps);
  return event;
}

}  // namespace profd::test
