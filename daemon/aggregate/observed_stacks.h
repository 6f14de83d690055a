// ObservedStacks: the time that the stacks of a session in snapshot mode represent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/aggregate/sample_part.h"
#include "daemon/process/sample.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Belongs to a ProfileBuilder and is used by its thread. An observer that finds a thread unchanged
// sends nothing, so the weight of a stack grows with the total of the thread's later events. The
// owner keeps the parts and passes them in; numbers of threads and parts are its indices. Its
// limits bound the memory.
//
// Growth that may belong to a stack whose sample is lost is dropped. It is not known here where the
// session ends: what grows between the end and the last event counts, too.
class ObservedStacks {
 public:
  // What a part shows beside its stack.
  struct Entry {
    std::uint32_t part = 0;
    std::int32_t syscall = -1;
    std::uint64_t number = 0;     // of the stack
    std::uint64_t place = 0;      // a hash of the arguments of the syscall and of the registers
    std::uint64_t period_ns = 0;  // what the visit that read it represents
  };

  // `start_ns`: the exact start of the session; `period_ns`: what a sampling point represents.
  ObservedStacks(std::uint64_t start_ns, std::uint64_t period_ns)
      : start_ns_(start_ns), period_ns_(period_ns) {}

  // `part`: that of the sample, which has an observation; nothing: it is not kept.
  void OnSample(std::uint32_t thread, const process::Sample& sample,
                std::optional<std::uint32_t> part, std::span<SamplePart> parts);
  // The event has an observation.
  void OnClock(std::uint32_t thread, const wire::ClockEvent& event, std::span<SamplePart> parts);
  // The number of the stack that the thread had when the session began, if no part has it yet; 0:
  // none is missing.
  [[nodiscard]] std::uint64_t Missing(std::uint32_t thread) const;
  // The missing stack of the part's thread. It has grown since the session began.
  void AddMissing(const Entry& entry, std::span<SamplePart> parts);

  // In the order of their parts.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // The part must be one that was added here.
  [[nodiscard]] const Entry& EntryOf(std::uint32_t part) const;
  // Sampling points by which stacks have grown.
  [[nodiscard]] std::uint64_t points() const { return points_; }
  [[nodiscard]] std::size_t bytes() const {
    return entries_.capacity() * sizeof(Entry) + threads_.capacity() * sizeof(Thread);
  }

 private:
  static constexpr std::uint32_t kNoPart = ~std::uint32_t{0};

  struct Thread {
    std::uint64_t number = 0;    // of its last stack
    std::uint64_t held_ns = 0;   // as of its last event
    std::uint64_t grown_ns = 0;  // by the last stack, in this session
    std::uint32_t part = kNoPart;
    bool seen = false;
    bool in_session = false;  // held_ns is from after the exact start
    std::uint64_t missing_number = 0;
    std::uint64_t missing_grown_ns = 0;  // once it is not the last stack any more
  };

  [[nodiscard]] Thread& At(std::uint32_t thread);
  // Takes the sample's number over. True: the sample's stack is the one of this number.
  [[nodiscard]] bool Advance(Thread& thread, const process::Sample& sample,
                             std::span<SamplePart> parts);
  // The thread's last stack grows up to the total.
  void Grow(Thread& thread, std::uint64_t held_ns, std::span<SamplePart> parts);
  void SetPart(Thread& thread, std::uint32_t part, std::span<SamplePart> parts);
  // A part whose stack had grown by `before_ns` and now by `after_ns`.
  void Raise(SamplePart& part, std::uint64_t before_ns, std::uint64_t after_ns);

  const std::uint64_t start_ns_;
  const std::uint64_t period_ns_;
  std::vector<Entry> entries_;
  std::vector<Thread> threads_;
  std::uint64_t points_ = 0;
};

}  // namespace profd::aggregate
