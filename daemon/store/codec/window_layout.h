// WindowLayout: the columns of an encoded window, and the predictions of which it keeps
// differences.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/weights.h"

namespace profd::store {

// Columns, in their order in the bytes.
enum WindowColumn : std::size_t {
  kHead,  // threads, samples, on-CPU period, off-CPU period, weight shift, start, end
  kThread,
  kProcess,
  kThreadFlags,
  kLife,
  kIdle,
  kClock,
  kSampleThread,
  kAttributes,
  kNode,
  kTime,
  kCount,
  kRaw,
  kWeight,
  kSum,
  kColumns
};
// Flags of a thread.
constexpr std::uint64_t kBegan = 1;
constexpr std::uint64_t kExited = 2;
constexpr std::uint64_t kClockMissing = 4;
constexpr std::uint64_t kWhole = 8;  // existed from the window's start to its end
constexpr unsigned kIdleShift =
    4;  // 2 bits: 1 + index of the only blocked_ns that is not 0; 0: others
// The thread is not idle, and its clock adds up to its lifetime. So one number follows from the
// others and is left out: on_cpu_ns of the clock if kWhole, otherwise the thread's end.
constexpr std::uint64_t kCloses = 64;
constexpr std::uint64_t kThreadFlagsEnd = 128;
constexpr std::uint64_t kTimeSteps = 1u << 14;

// All fields of a clock, in the order of their column.
template <typename Clock, typename Visit>
void VisitClock(Clock& clock, const Visit& visit) {
  visit(clock.on_cpu_ns);
  for (auto& ns : clock.runnable_ns) visit(ns);
  for (auto& ns : clock.blocked_ns) visit(ns);
  visit(clock.on_cpu_count);
  for (auto& count : clock.runnable_count) visit(count);
  for (auto& count : clock.blocked_count) visit(count);
  visit(clock.migrations);
}

// State, wait reason, GIL word, exact and stack flags as one number.
[[nodiscard]] std::uint64_t AttributesOf(const aggregate::ProfileSample& sample);
// False for a number that AttributesOf never gives.
[[nodiscard]] bool SetAttributes(std::uint64_t attributes, aggregate::ProfileSample& sample);

// The prediction for a raw weight, of which only the difference is stored: the clock of the state
// for exact samples, otherwise one period per sampling point.
[[nodiscard]] std::uint64_t ExpectedRaw(const aggregate::ProfileSample& sample,
                                        std::uint64_t state_ns, std::uint64_t on_cpu_period_ns,
                                        std::uint64_t off_cpu_period_ns);

// The prediction for the weights of all samples of one thread and state: the raw weights scaled to
// the clock. What no counted sample can have goes to the first sample without a count.
void ExpectWeights(std::span<aggregate::ProfileSample> group, std::uint64_t state_ns,
                   std::vector<aggregate::WeightedSample>& scratch);

[[nodiscard]] std::uint64_t SumOfWeights(std::span<const aggregate::ProfileSample> group);

// `value` and `steps` of 2^shift; 0 where that would be negative.
[[nodiscard]] std::uint64_t AddSteps(std::uint64_t value, std::int64_t steps, unsigned shift);

// Corrects the heaviest sample so that the weights add up to `sum`. False: it would become
// negative.
[[nodiscard]] bool CorrectSum(std::span<aggregate::ProfileSample> group, std::uint64_t sum);

}  // namespace profd::store
