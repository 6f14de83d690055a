// ReportTime: a sum of samples by what threads did: the parts of all time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "client/profile/counters/counts.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// The parts of the time of a thread. Each sample is in one of them.
enum class TimePart : std::uint8_t { kWorking, kSpinning, kRunnable, kBlocked, kStolen };
inline constexpr std::size_t kParts = 5;

// "working".
[[nodiscard]] std::string_view PartName(TimePart part);
// Of a sample of a profile that has passed CheckProfile.
[[nodiscard]] TimePart PartOf(const v1::Profile& profile, int sample);

struct SampledTime {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;    // samples that it rests on
  std::uint64_t exact_ns = 0;  // part that was measured, not sampled

  SampledTime& operator+=(const SampledTime& other);
  SampledTime& operator-=(const SampledTime& part);
  // It rests on few samples, and most of it was not measured.
  [[nodiscard]] bool rough() const;
};

struct ReportTime {
  std::array<SampledTime, kParts> parts;
  Counts counts;  // of the time on a CPU

  [[nodiscard]] const SampledTime& operator[](TimePart part) const {
    return parts[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] SampledTime& operator[](TimePart part) {
    return parts[static_cast<std::size_t>(part)];
  }
  ReportTime& operator+=(const ReportTime& other);
  ReportTime& operator-=(const ReportTime& part);
  void Add(const v1::Profile& profile, int sample);
  [[nodiscard]] SampledTime all() const;
  [[nodiscard]] std::uint64_t running_ns() const;  // stolen time is part of it, as of counts
};

// The sum of all samples, which have passed CheckProfile.
[[nodiscard]] ReportTime TimeOf(const v1::Profile& profile);

}  // namespace profd::client
