// ProcessContext: what a process publishes about itself for readers outside of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/procfs/resource_text.h"

namespace profd::source {

// Source: OpenTelemetry's process context (OTEP 4719), a header in a mapping whose name says so,
// and a protobuf message, opentelemetry.proto.resource.v1.Resource.
struct ProcessContext {
  static constexpr std::size_t kMaxPayloadBytes = 256u << 10;
  static constexpr std::size_t kMaxNameBytes = 255;

  // About the labels of threads (OTEP 4947).
  std::string schema;             // "tls_v1"; "": its threads have no labels
  std::vector<std::string> keys;  // names of attributes, by their numbers; bounded
  ResourceAttributes attributes;  // all others that are texts
};

// Where the payload lies. Laid out as in memory.
struct ProcessContextHeader {
  char signature[8];
  std::uint32_t version;
  std::uint32_t payload_bytes;
  std::uint64_t published_ns;  // 0: it is being written
  std::uint64_t payload;
};
static_assert(sizeof(ProcessContextHeader) == 32);

// Whether a mapping of this path (as /proc/PID/maps has it) may hold one.
[[nodiscard]] bool MayHoldContext(std::string_view path);

// kCorrupt: it is none, or of another version, or too long. kUnavailable: it is being written.
[[nodiscard]] Result<void> CheckHeader(const ProcessContextHeader& header);

// The bytes are as hostile as the process. kCorrupt: they are no such message.
[[nodiscard]] Result<ProcessContext> ParsePayload(std::string_view bytes);

}  // namespace profd::source
