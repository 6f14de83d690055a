#include <algorithm>
#include <utility>

#include "daemon/store/codec/columns.h"
#include "daemon/store/codec/window_codec.h"
#include "daemon/store/codec/window_layout.h"

namespace profd::store {
namespace {

using aggregate::ProfileSample;
using aggregate::ProfileThread;
using aggregate::StateClock;

constexpr std::size_t kMaxThreads = 8u << 20;
constexpr std::uint32_t kUnwanted = UINT32_MAX;

Error Corrupt(const char* message) { return Error{ErrorCode::kCorrupt, message, {}}; }

class Decoder {
 public:
  Decoder(const UnpackedColumns& columns, std::uint64_t start_ns, std::uint64_t end_ns)
      : start_ns_(start_ns), end_ns_(end_ns) {
    for (std::size_t i = 0; i < kColumns; ++i) columns_.push_back(columns[i]);
  }

  Result<StoredWindow> Decode(const WantsThread& wants) {
    threads_ = columns_[kHead].Next();
    samples_ = columns_[kHead].Next();
    on_cpu_period_ns_ = columns_[kHead].Next();
    off_cpu_period_ns_ = columns_[kHead].Next();
    shift_ = static_cast<unsigned>(columns_[kHead].Next() & 31);
    // Compares with the row of the window, which has no checksum of its own.
    if (columns_[kHead].Next() != start_ns_ || columns_[kHead].Next() != end_ns_)
      return Corrupt("a window's begin or end is damaged");
    // Each thread and sample takes at least one byte: this bounds the allocations below.
    if (threads_ > kMaxThreads || threads_ > columns_[kThreadFlags].left() ||
        samples_ > columns_[kTime].left())
      return Corrupt("a window says that it holds more than it does");
    if (!ReadThreads(wants)) return Corrupt("the threads of a window are damaged");
    if (!ReadSamples()) return Corrupt("the samples of a window are damaged");
    for (const auto& column : columns_)
      if (!column.ok() || column.left() != 0) return Corrupt("a window's columns do not fit");
    return std::move(window_);
  }

 private:
  bool ReadThreads(const WantsThread& wants) {
    std::uint64_t number = 0;
    std::uint64_t process = 0;
    for (std::uint64_t i = 0; i < threads_; ++i) {
      StoredThread stored;
      number += static_cast<std::uint64_t>(columns_[kThread].NextSigned());
      process += columns_[kProcess].Next();
      stored.number = static_cast<std::uint32_t>(number);
      stored.process = static_cast<std::uint32_t>(process);
      if (!ReadThread(stored.thread)) return false;
      clocks_.push_back(stored.thread.clock);
      const bool wanted = wants(stored);
      place_of_.push_back(wanted ? static_cast<std::uint32_t>(window_.threads.size()) : kUnwanted);
      if (wanted) window_.threads.push_back(std::move(stored));
    }
    return true;
  }

  bool ReadThread(ProfileThread& thread) {
    const std::uint64_t flags = columns_[kThreadFlags].Next();
    const std::uint64_t idle = flags >> kIdleShift & 3;
    const bool whole = (flags & kWhole) != 0;
    const bool closes = (flags & kCloses) != 0;
    if (flags >= kThreadFlagsEnd || idle > PROFD_BLOCKED_MAX || (closes && idle != 0)) return false;
    thread.began = (flags & kBegan) != 0;
    thread.exited = (flags & kExited) != 0;
    thread.clock_missing = (flags & kClockMissing) != 0;
    thread.begin_ns = start_ns_;
    thread.end_ns = end_ns_;
    if (!whole) thread.begin_ns += static_cast<std::uint64_t>(columns_[kLife].NextSigned());
    if (!whole && !closes)
      thread.end_ns -= static_cast<std::uint64_t>(columns_[kLife].NextSigned());
    if (idle != 0) {
      thread.clock.blocked_ns[idle - 1] = thread.end_ns - thread.begin_ns +
                                          static_cast<std::uint64_t>(columns_[kIdle].NextSigned());
      return true;
    }
    VisitClock(thread.clock, [&](auto& value) {
      const bool is_known = closes && whole && &value == &thread.clock.on_cpu_ns;
      if (!is_known) value = columns_[kClock].Next();
    });
    if (closes) Close(whole, thread);
    return true;
  }

  // Computes the number that the encoder left out.
  static void Close(bool whole, ProfileThread& thread) {
    const std::uint64_t sum_ns = aggregate::ClockTotal(thread.clock);
    if (whole)
      thread.clock.on_cpu_ns = thread.end_ns - thread.begin_ns - sum_ns;
    else
      thread.end_ns = thread.begin_ns + sum_ns;
  }

  bool ReadSamples() {
    std::uint64_t thread = 0;
    std::uint64_t node = 0;
    for (std::uint64_t i = 0; i < samples_; ++i) {
      const std::uint64_t step = columns_[kSampleThread].Next();
      thread += step;
      node += static_cast<std::uint64_t>(columns_[kNode].NextSigned());
      ProfileSample sample;
      if (!SetAttributes(columns_[kAttributes].Next(), sample) || thread >= threads_ ||
          node > UINT32_MAX)
        return false;
      if (!group_.empty() && (step != 0 || sample.state != group_[0].state) && !EndGroup())
        return false;
      sample.thread = static_cast<std::uint32_t>(thread);
      sample.node = static_cast<std::uint32_t>(node);
      ReadMeasures(sample);
      group_.push_back(sample);
    }
    return group_.empty() || EndGroup();
  }

  void ReadMeasures(ProfileSample& sample) {
    const std::uint64_t length = end_ns_ - start_ns_;
    const std::uint64_t step = std::min(columns_[kTime].Next(), kTimeSteps);
    sample.time_ns =
        start_ns_ + length / kTimeSteps * step + length % kTimeSteps * step / kTimeSteps;
    sample.count = static_cast<std::uint32_t>(columns_[kCount].Next());
    const std::uint64_t state_ns = StateClock(clocks_[sample.thread], sample.state);
    sample.raw_weight_ns =
        AddSteps(ExpectedRaw(sample, state_ns, on_cpu_period_ns_, off_cpu_period_ns_),
                 columns_[kRaw].NextSigned(), shift_);
  }

  // Called when all samples of one thread and state are decoded.
  bool EndGroup() {
    const std::uint32_t thread = group_[0].thread;
    const std::uint64_t state_ns = StateClock(clocks_[thread], group_[0].state);
    const bool wanted = place_of_[thread] != kUnwanted;
    if (wanted) ExpectWeights(group_, state_ns, scratch_);
    for (ProfileSample& sample : group_)
      sample.weight_ns = AddSteps(sample.weight_ns, columns_[kWeight].NextSigned(), shift_);
    const std::uint64_t sum = state_ns + static_cast<std::uint64_t>(columns_[kSum].NextSigned());
    if (wanted) {
      if (!CorrectSum(group_, sum)) return false;
      for (ProfileSample& sample : group_) {
        sample.thread = place_of_[thread];
        window_.samples.push_back(sample);
      }
    }
    group_.clear();
    return true;
  }

  const std::uint64_t start_ns_;
  const std::uint64_t end_ns_;
  std::vector<ColumnReader> columns_;
  std::uint64_t threads_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t on_cpu_period_ns_ = 0;
  std::uint64_t off_cpu_period_ns_ = 0;
  unsigned shift_ = 0;
  StoredWindow window_;
  std::vector<profd_clock> clocks_;      // of all threads, by place
  std::vector<std::uint32_t> place_of_;  // place -> index into window_.threads
  std::vector<ProfileSample> group_;
  std::vector<aggregate::WeightedSample> scratch_;
};

}  // namespace

Result<StoredWindow> DecodeWindow(std::span<const std::byte> bytes, std::uint64_t start_ns,
                                  std::uint64_t end_ns, const WantsThread& wants) {
  const auto columns = UnpackedColumns::From(bytes, kColumns);
  if (!columns) return columns.error();
  return Decoder(*columns, start_ns, std::max(start_ns, end_ns)).Decode(wants);
}

}  // namespace profd::store
