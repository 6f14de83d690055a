// SamplePart: what a ProfileBuilder keeps of a sample until the end of its session is known.
#pragma once

#include <cstdint>

#include "daemon/aggregate/stack_tree.h"
#include "daemon/process/sample.h"

namespace profd::aggregate {

// An off-CPU sample of an interval has two parts: the blocked and the runnable time. Sessions keep
// millions of parts, so their size matters.
struct SamplePart {
  std::uint64_t begin_ns = 0;   // on-CPU, observed: begin = end = when it was taken
  std::uint64_t end_ns = 0;     // snapshot: when the stack was read
  std::uint64_t weight_ns = 0;  // of all of [begin, end)
  std::uint32_t thread = 0;
  StackTree::NodeId node = 0;
  std::uint32_t count = 0;
  std::uint16_t stack_flags = 0;
  process::State state : 2 = process::State::kOnCpu;
  bool snapshot : 1 = false;
  bool reported_before : 1 = false;  // a snapshot of the session that this one continues
  process::Gil gil : 3 = process::Gil::kNone;
  // With kNone: the process has an interpreter, and the thread has no Python thread state.
  bool gil_certain : 1 = false;
  process::WaitReason wait = process::WaitReason::kNone;
};
static_assert(sizeof(SamplePart) == 40);

// Where the thread of an on-CPU part ran.
struct PartCpu {
  std::uint16_t number = 0;  // 1 + the CPU; 0: not known
  process::Sibling sibling = process::Sibling::kUnknown;
};

// 104 days. No true weight is that large, and a false one must not overflow the sums.
inline constexpr std::uint64_t kMaxWeightNs = 9'000'000'000'000'000;

}  // namespace profd::aggregate
