#include "daemon/recording/old_events.h"

#include <cstring>

#include "bpf/shared/events.h"

namespace profd::recording {
namespace {

// Clocks of version 2 end before stolen_ns: that time is in on_cpu_ns.
constexpr std::uint32_t kClocksWithoutStolen = 2;
constexpr std::size_t kClockBytes2 = offsetof(profd_clock, stolen_ns);
constexpr std::size_t kClockEventBytes2 =
    offsetof(profd_clock_event, at_epoch) + 2 * kClockBytes2 + PROFD_COMM_LEN;

// Those of versions 2 to 4 end before own_tid.
constexpr std::uint32_t kClocksWithoutOwnTid = 4;
constexpr std::size_t kClockEventBytes4 = offsetof(profd_clock_event, own_tid);

// Those of version 5, too, end before moves_at_epoch, and no flag says that there are any.
constexpr std::uint32_t kClocksWithoutMoves = 5;
constexpr std::size_t kClockEventBytes5 = offsetof(profd_clock_event, moves_at_epoch);

std::size_t ClockEventBytes(std::uint32_t version) {
  if (version <= kClocksWithoutStolen) return kClockEventBytes2;
  return version <= kClocksWithoutOwnTid ? kClockEventBytes4 : kClockEventBytes5;
}

// What is missing at its end is 0.
profd_clock_event ClockOf3(std::span<const std::byte> event) {
  profd_clock_event clock{};
  std::memcpy(&clock, event.data(), event.size());
  clock.event.size = sizeof(clock);
  return clock;
}

profd_clock_event ClockOf2(std::span<const std::byte> event) {
  profd_clock_event clock{};
  const auto take = [&](void* to, std::size_t bytes) {
    std::memcpy(to, event.data(), bytes);
    event = event.subspan(bytes);
  };
  take(&clock, offsetof(profd_clock_event, at_epoch));
  take(&clock.at_epoch, kClockBytes2);
  take(&clock.final, kClockBytes2);
  take(clock.comm, sizeof(clock.comm));
  clock.event.size = sizeof(clock);
  return clock;
}

// Descriptions of processes of versions 2 to 5 have two blobs less.
constexpr std::uint32_t kProcessesWithoutResource = 5;
constexpr std::size_t kProcessBytes5 =
    offsetof(profd_process_event, blob_bytes) + 8 * sizeof(__u32);

constexpr std::uint32_t kLastOld = 5;
static_assert(kClocksWithoutMoves == kLastOld && kProcessesWithoutResource == kLastOld &&
              kLastOld < PROFD_EVENTS_VERSION);

// Samples of versions 2 and 3 end before followed_sessions. Packed ones leave out what is 0 anyway.
constexpr std::uint32_t kSamplesWithoutFollowed = 3;
constexpr std::size_t kSampleBytes3 = offsetof(profd_sample_event, followed_sessions);

bool IsOldSample(const profd_event& header, std::size_t bytes) {
  const bool is_sample = header.kind == PROFD_EVENT_ON_CPU || header.kind == PROFD_EVENT_OFF_CPU ||
                         header.kind == PROFD_EVENT_SNAPSHOT;
  return is_sample && (header.flags & PROFD_SAMPLE_PACKED) == 0 && header.size >= kSampleBytes3 &&
         header.size <= bytes;
}

bool IsOldProcess(const profd_event& header, std::size_t bytes) {
  return header.kind == PROFD_EVENT_PROCESS && header.size >= kProcessBytes5 &&
         header.size <= bytes;
}

// What is new is 0, and stands between the old fields and the tail.
void Widen(std::span<const std::byte> event, profd_event header, std::size_t old_bytes,
           std::size_t new_bytes, std::vector<std::byte>& wide) {
  wide.assign(event.begin(), event.begin() + static_cast<std::ptrdiff_t>(old_bytes));
  wide.resize(new_bytes);
  wide.insert(wide.end(), event.begin() + static_cast<std::ptrdiff_t>(old_bytes), event.end());
  header.size += static_cast<__u32>(new_bytes - old_bytes);
  std::memcpy(wide.data(), &header, sizeof(header));
}

}  // namespace

std::span<const std::byte> InPresentLayout(std::span<const std::byte> event, std::uint32_t version,
                                           std::vector<std::byte>& scratch) {
  profd_event header;
  if (version > kLastOld || event.size() < sizeof(header)) return event;
  std::memcpy(&header, event.data(), sizeof(header));
  if (IsOldProcess(header, event.size())) {
    Widen(event, header, kProcessBytes5, sizeof(profd_process_event), scratch);
    return scratch;
  }
  if (version <= kSamplesWithoutFollowed && IsOldSample(header, event.size())) {
    Widen(event, header, kSampleBytes3, sizeof(profd_sample_event), scratch);
    return scratch;
  }
  const bool is_clock = header.kind == PROFD_EVENT_CLOCK || header.kind == PROFD_EVENT_THREAD_END;
  if (!is_clock || header.size != event.size() || event.size() != ClockEventBytes(version))
    return event;
  const profd_clock_event clock =
      version <= kClocksWithoutStolen ? ClockOf2(event) : ClockOf3(event);
  scratch.resize(sizeof(clock));
  std::memcpy(scratch.data(), &clock, sizeof(clock));
  return scratch;
}

}  // namespace profd::recording
