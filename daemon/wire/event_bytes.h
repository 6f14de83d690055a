// EventBytes: events that user space makes, in the layout of bpf/shared/events.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/wire/event_source.h"

namespace profd::wire {

using EventBytes = std::vector<std::byte>;

// `fixed` is any event struct of bpf/shared/events.h, its tail follows. Sets kind and size.
template <typename Fixed>
[[nodiscard]] EventBytes LayOut(profd_event_kind kind, Fixed fixed, std::string_view tail = {}) {
  fixed.event.kind = static_cast<__u16>(kind);
  fixed.event.size = static_cast<__u32>(sizeof(Fixed) + tail.size());
  EventBytes bytes(fixed.event.size);
  std::memcpy(bytes.data(), &fixed, sizeof(Fixed));
  if (!tail.empty()) std::memcpy(bytes.data() + sizeof(Fixed), tail.data(), tail.size());
  return bytes;
}

// The effective nominal periods, as struct profd_periods_event has them.
struct PeriodsNs {
  std::uint64_t on_cpu = 0;
  std::uint64_t off_cpu = 0;
  std::uint64_t background_on_cpu = 0;
  std::uint64_t background_off_cpu = 0;

  friend bool operator==(const PeriodsNs&, const PeriodsNs&) = default;
};

// Each sets the length of its tail. Paths and targets are stored with a terminating zero (paths)
// or without (targets), as bpf/shared/events.h says.
[[nodiscard]] EventBytes LayOutMmap(profd_mmap_event fixed, std::string_view path);
[[nodiscard]] EventBytes LayOutProcess(profd_process_event fixed,
                                       const std::array<std::string, PROFD_BLOB_MAX>& blobs);
[[nodiscard]] EventBytes LayOutSession(profd_event_kind kind, profd_session_event fixed,
                                       std::string_view target);
[[nodiscard]] EventBytes LayOutPeriods(std::uint64_t time_ns, const PeriodsNs& periods,
                                       std::uint64_t point_seed);
// Names are cut to 255 bytes, and there are at most PROFD_MAX_LABEL_KEYS.
[[nodiscard]] EventBytes LayOutLabelProcess(profd_label_process_event fixed,
                                            std::span<const std::string> keys,
                                            std::string_view reason);
[[nodiscard]] EventBytes LayOutCounters(std::uint64_t time_ns,
                                        std::span<const std::uint64_t> values);

[[nodiscard]] EventBytes LayOutStepSource(profd_step_source_event fixed, std::string_view text,
                                          std::string_view reason);

// The header of an event, or nothing when the bytes cannot hold it or its size is not theirs.
[[nodiscard]] inline bool ReadHeader(std::span<const std::byte> bytes, profd_event* header) {
  if (bytes.size() < sizeof(*header)) return false;
  std::memcpy(header, bytes.data(), sizeof(*header));
  return header->size >= sizeof(*header) && header->size <= bytes.size();
}

// The fixed part of an event of a known kind.
template <typename Fixed>
[[nodiscard]] bool ReadFixed(std::span<const std::byte> bytes, Fixed* fixed) {
  if (bytes.size() < sizeof(Fixed)) return false;
  std::memcpy(fixed, bytes.data(), sizeof(Fixed));
  return true;
}

// The same of a sample, with the words that a packed one leaves out. `tail`: what follows it.
[[nodiscard]] inline bool ReadSample(std::span<const std::byte> bytes, profd_sample_event* sample,
                                     std::span<const std::byte>* tail = nullptr) {
  std::array<std::uint64_t, sizeof(*sample) / sizeof(std::uint64_t)> words{};
  constexpr std::size_t kHeaderWords = sizeof(sample->event) / sizeof(words[0]);
  profd_event header{};
  if (!ReadHeader(bytes, &header)) return false;
  const bool packed = (header.flags & PROFD_SAMPLE_PACKED) != 0;
  for (std::size_t word = 0; word < words.size(); ++word) {
    if (packed && word >= kHeaderWords && (header.kept >> (word - kHeaderWords) & 1) == 0) continue;
    if (bytes.size() < sizeof(words[0])) return false;
    std::memcpy(&words[word], bytes.data(), sizeof(words[0]));
    bytes = bytes.subspan(sizeof(words[0]));
  }
  std::memcpy(sample, words.data(), sizeof(*sample));
  if (tail != nullptr) *tail = bytes;
  return true;
}

}  // namespace profd::wire
