// The perf side-band records profd reads: new mappings, and how many records were lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "daemon/wire/event_bytes.h"

namespace profd::source {

struct SideBandRecord {
  std::optional<wire::EventBytes> mmap;  // PROFD_EVENT_MMAP
  std::uint64_t lost = 0;                // records the kernel could not write
  bool malformed = false;                // too short for what it says it is
};

// The process of a record that says what was mapped; nothing: the record says something else.
[[nodiscard]] std::optional<std::uint32_t> MappingPid(std::span<const std::byte> record);

// `record` comes from an event with sample_type PERF_SAMPLE_TIME and sample_id_all. Kinds that
// profd does not use come out empty.
[[nodiscard]] SideBandRecord DecodeSideBand(std::span<const std::byte> record, std::uint32_t cpu);

}  // namespace profd::source
