#include "daemon/source/sessions/member_reader.h"

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "daemon/base/keys.h"
#include "daemon/source/bpf/iterator.h"

namespace profd::source {
namespace {

// All clocks are read again while some could not be: up to this often, this long apart.
constexpr int kClockReadings = 50;
constexpr std::chrono::milliseconds kClockReadingPause{1};

}  // namespace

Result<std::vector<wire::EventBytes>> MemberReader::ReadClocks(std::uint64_t sessions) {
  // A thread that loses its CPU to the hypervisor in the middle of a switch cannot be read until
  // later.
  Result<std::vector<std::byte>> bytes = std::vector<std::byte>();
  std::uint64_t torn = 0;
  for (int left = kClockReadings; left > 0; --left) {
    const std::uint64_t before = counters_()[PROFD_COUNTER_TORN_READ];
    bytes = ReadIterator(objects_.clocks_link_fd());
    if (!bytes) return bytes.error();
    torn = counters_()[PROFD_COUNTER_TORN_READ] - before;
    if (torn == 0) break;
    std::this_thread::sleep_for(kClockReadingPause);
  }
  clocks_unread_ += torn;
  bool malformed = false;
  std::vector<wire::EventBytes> clocks = SplitEvents(*bytes, &malformed);
  malformed_ += malformed ? 1 : 0;
  std::erase_if(clocks, [&](const wire::EventBytes& clock) {
    profd_event header{};
    return !wire::ReadHeader(clock, &header) || (header.sessions & sessions) == 0;
  });
  return clocks;
}

std::vector<wire::EventBytes> MemberReader::ReadProcesses(
    std::span<const wire::EventBytes> clocks) {
  std::map<ProcessKey, std::uint32_t> processes;  // and one thread of each
  for (const wire::EventBytes& clock : clocks) {
    profd_event header{};
    if (wire::ReadHeader(clock, &header))
      processes.try_emplace({header.pid, header.process_start_ns}, header.tid);
  }
  std::vector<wire::EventBytes> events;
  std::vector<ProcessReader::Wanted> wanted;
  const auto read = [&] {
    for (auto& event : reader_.Read(wanted))
      if (event) events.push_back(*std::move(event));
    wanted.clear();
  };
  for (const auto& [process, tid] : processes) {
    wanted.push_back({process, tid, clock_.MonotonicNs()});
    if (wanted.size() == ProcessTextClient::kTogether) read();
  }
  read();
  return events;
}

}  // namespace profd::source
