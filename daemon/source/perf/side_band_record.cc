#include "daemon/source/perf/side_band_record.h"

#include <linux/perf_event.h>

#include <cstring>
#include <string_view>

namespace profd::source {
namespace {

// PERF_RECORD_MMAP2 (linux/perf_event.h); the file name follows, then the sample id.
struct Mmap2 {
  perf_event_header header;
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t page_offset;  // bytes, whatever the name says
  std::uint32_t device_major;
  std::uint32_t device_minor;
  std::uint64_t inode;
  std::uint64_t inode_generation;
  std::uint32_t prot;
  std::uint32_t flags;
};
static_assert(sizeof(Mmap2) == 72);

struct Lost {
  perf_event_header header;
  std::uint64_t id;
  std::uint64_t lost;
};

using SampleId = std::uint64_t;  // the time alone

template <typename Fixed>
bool Take(std::span<const std::byte> record, Fixed* fixed) {
  if (record.size() < sizeof(Fixed) + sizeof(SampleId)) return false;
  std::memcpy(fixed, record.data(), sizeof(Fixed));
  return true;
}

wire::EventBytes ToEvent(std::span<const std::byte> record, const Mmap2& mmap, std::uint32_t cpu) {
  SampleId time_ns = 0;
  std::memcpy(&time_ns, record.data() + record.size() - sizeof(time_ns), sizeof(time_ns));
  const std::string_view padded(reinterpret_cast<const char*>(record.data()) + sizeof(mmap),
                                record.size() - sizeof(mmap) - sizeof(time_ns));
  std::string_view path = padded.substr(0, padded.find('\0'));
  if (path == "//anon") path = "";  // as /proc/PID/maps has it

  profd_mmap_event event{};
  event.event.time_ns = time_ns;
  event.event.pid = mmap.pid;
  event.event.tid = mmap.tid;
  event.event.cpu = cpu;
  event.address = mmap.address;
  event.bytes = mmap.bytes;
  event.file_offset = mmap.page_offset;
  event.prot = mmap.prot;
  if ((mmap.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) == 0) {
    event.device_major = mmap.device_major;
    event.device_minor = mmap.device_minor;
    event.inode = mmap.inode;
    event.inode_generation = mmap.inode_generation;
  }
  return wire::LayOutMmap(event, path);
}

}  // namespace

std::optional<std::uint32_t> MappingPid(std::span<const std::byte> record) {
  Mmap2 mmap{};
  if (!Take(record, &mmap) || mmap.header.type != PERF_RECORD_MMAP2) return std::nullopt;
  return mmap.pid;
}

SideBandRecord DecodeSideBand(std::span<const std::byte> record, std::uint32_t cpu) {
  SideBandRecord decoded;
  perf_event_header header{};
  if (record.size() < sizeof(header)) {
    decoded.malformed = true;
    return decoded;
  }
  std::memcpy(&header, record.data(), sizeof(header));
  if (header.type == PERF_RECORD_MMAP2) {
    Mmap2 mmap{};
    decoded.malformed = !Take(record, &mmap);
    if (!decoded.malformed) decoded.mmap = ToEvent(record, mmap, cpu);
  } else if (header.type == PERF_RECORD_LOST) {
    Lost lost{};
    decoded.malformed = !Take(record, &lost);
    decoded.lost = lost.lost;
  }
  return decoded;
}

}  // namespace profd::source
