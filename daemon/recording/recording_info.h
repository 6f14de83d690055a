// RecordingInfo and RecordingTotals: the description at the begin of a recording, and the totals at
// its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/wire/cpu_place.h"

namespace profd::recording {

// How and where the recording was made.
struct RecordingInfo {
  std::uint32_t events_version = 0;  // PROFD_EVENTS_VERSION of the writer
  std::string architecture;          // "x86_64"
  std::string kernel_release;
  std::string host;
  std::string profd_version;
  std::string hook;     // the hook that was used
  std::string options;  // of the daemon; only shown, never parsed
  std::uint64_t start_monotonic_ns = 0;
  std::int64_t realtime_offset_ns = 0;  // CLOCK_REALTIME minus CLOCK_MONOTONIC
  std::vector<CpuPlace> cpu_places;     // of the CPUs that were online; empty: not known
  friend bool operator==(const RecordingInfo&, const RecordingInfo&) = default;
};

// Describes this machine, this build and this moment. The caller adds hook, options and places.
[[nodiscard]] RecordingInfo DescribeThisMachine(const Clock& clock);

// What a complete recording holds, and what was dropped.
struct RecordingTotals {
  std::uint64_t events = 0;
  std::uint64_t event_bytes = 0;  // before compression
  std::uint64_t dropped_events = 0;
  std::uint64_t dropped_event_bytes = 0;
  std::uint64_t environment = 0;
  std::uint64_t dropped_environment = 0;
  std::uint64_t end_monotonic_ns = 0;
  std::uint64_t write_error = 0;  // errno of the error that ended the recording; 0: none
  friend bool operator==(const RecordingTotals&, const RecordingTotals&) = default;
};

// The contents of the info block and of the footer.
[[nodiscard]] std::vector<std::byte> EncodeInfo(const RecordingInfo& info);
[[nodiscard]] std::vector<std::byte> EncodeTotals(const RecordingTotals& totals);
// kCorrupt: the bytes are not the contents of such a block.
[[nodiscard]] Result<RecordingInfo> DecodeInfo(std::span<const std::byte> bytes);
[[nodiscard]] Result<RecordingTotals> DecodeTotals(std::span<const std::byte> bytes);

}  // namespace profd::recording
