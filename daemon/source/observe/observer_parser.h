// ObserverParser: the passes of one stream of observers for a while, in a reader process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/reader/zygote.h"

namespace profd::source {

// What a request to an observer says. Its descriptors are those of BpfObjects::observer_fds.
struct ObserveRequest {
  std::uint32_t stream = 0;
  std::uint32_t cpu = 0;          // on which the observer runs
  std::uint32_t stream0_cpu = 0;  // on which that of stream 0 does
  std::uint32_t level = 0;        // of the sampling points
  std::uint64_t seed = 0;
  std::uint64_t after_ns = 0;  // the first pass is at the first point after this ...
  std::uint64_t until_ns = 0;  // ... and all others are before this; CLOCK_MONOTONIC
};

struct ObserveAnswer {
  std::uint64_t last_point_ns = 0;  // the last pass was at; 0: there was none
  std::uint64_t missed = 0;         // points at which this process did not run in time
  std::uint64_t cpu_ns = 0;         // of all that
};

// Job: sleeps until a sampling point, and runs the program that visits threads. It runs on a CPU of
// its own choice with normal priority: where it comes late, it does so for reasons that have
// nothing to do with what other CPUs run. Thread: that of a reader process. The program reads
// memory of other processes, so it may hang: the process is expendable, and its pool watches it.
class ObserverParser : public reader::Parser {
 public:
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;
};

}  // namespace profd::source
