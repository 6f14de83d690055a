// Raw events for tests: any struct of bpf/shared/events.h with its tail, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/wire/event_bytes.h"

namespace profd::test {

using wire::EventBytes;

// Lengths in the fixed part are the caller's, so that they can be wrong.
template <typename Fixed>
EventBytes RawEventBytes(profd_event_kind kind, const Fixed& fixed, std::string_view tail = {}) {
  return wire::LayOut(kind, fixed, tail);
}

inline profd_event RawHeader(std::uint64_t time_ns, std::uint32_t pid = 100,
                             std::uint32_t tid = 101) {
  profd_event event{};
  event.time_ns = time_ns;
  event.pid = pid;
  event.tid = tid;
  event.process_start_ns = 1'000'000 + pid;
  event.thread_start_ns = 2'000'000 + tid;
  event.sessions = 1;
  event.cpu = 3;
  return event;
}

// Numbers as the tail of an event.
inline std::string RawNumbers(const std::vector<std::uint64_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint64_t)};
}

inline EventBytes RawSample(profd_event_kind kind, const profd_event& event,
                            const std::vector<std::uint64_t>& kernel_frames,
                            const std::vector<std::uint64_t>& user_frames) {
  profd_sample_event fixed{};
  fixed.event = event;
  fixed.syscall = -1;
  fixed.period_ns = 10'000'000;
  fixed.kernel_frames = static_cast<__u16>(kernel_frames.size());
  fixed.user_frames = static_cast<__u16>(user_frames.size());
  return RawEventBytes(kind, fixed, RawNumbers(kernel_frames) + RawNumbers(user_frames));
}

// A packed sample, of the words of its fixed part that are kept, and the units of its tail.
inline EventBytes RawPackedSample(profd_event_kind kind, std::uint32_t kept,
                                  const std::vector<std::uint64_t>& words,
                                  const std::vector<std::uint16_t>& units) {
  struct {
    profd_event event;
  } fixed{RawHeader(5'000)};
  fixed.event.flags = PROFD_SAMPLE_PACKED;
  fixed.event.kept = kept;
  std::string tail = RawNumbers(words);
  tail.append(reinterpret_cast<const char*>(units.data()), units.size() * sizeof(units[0]));
  return RawEventBytes(kind, fixed, tail);
}

inline EventBytes RawTask(profd_event_kind kind, const profd_event& event, std::string_view comm,
                          std::string_view path = {}) {
  profd_task_event fixed{};
  fixed.event = event;
  comm.copy(fixed.comm, sizeof(fixed.comm) - 1);
  std::string tail;
  if (!path.empty()) tail = std::string(path) + '\0';
  fixed.path_bytes = static_cast<__u32>(tail.size());
  return RawEventBytes(kind, fixed, tail);
}

}  // namespace profd::test
