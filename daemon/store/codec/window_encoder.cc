#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "daemon/store/codec/columns.h"
#include "daemon/store/codec/window_codec.h"
#include "daemon/store/codec/window_layout.h"

namespace profd::store {
namespace {

using aggregate::ProfileSample;
using aggregate::ProfileThread;
using aggregate::StateClock;

// Single raw weights are kept in steps of 2^16 ns.
constexpr unsigned kWeightShift = 16;

// The difference of two numbers whose difference is small against 2^63.
std::int64_t Difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

// The nearest number of steps of 2^shift.
std::int64_t ToSteps(std::int64_t ns, unsigned shift) {
  const std::int64_t half = shift == 0 ? 0 : std::int64_t{1} << (shift - 1);
  return (ns + half) >> shift;
}

// 1 + the index into blocked_ns if the thread was in no other state; otherwise 0.
std::uint64_t IdleKind(const profd_clock& clock) {
  std::uint64_t kind = 0;
  std::uint64_t others = 0;
  VisitClock(clock, [&](const auto& value) { others += value != 0 ? 1 : 0; });
  for (std::uint64_t i = 0; i < PROFD_BLOCKED_MAX; ++i)
    if (clock.blocked_ns[i] != 0) kind = i + 1;
  return others == 1 ? kind : 0;
}

// Calls back for each run of samples of one thread and state.
template <typename Visit>
void VisitGroups(std::span<ProfileSample> samples, const Visit& visit) {
  for (std::size_t first = 0; first < samples.size();) {
    std::size_t last = first + 1;
    while (last < samples.size() && samples[last].thread == samples[first].thread &&
           samples[last].state == samples[first].state)
      ++last;
    visit(samples.subspan(first, last - first));
    first = last;
  }
}

class Encoder {
 public:
  Encoder(const aggregate::Profile& window, const WindowNumbers& numbers)
      : window_(window), numbers_(numbers) {}

  Result<std::string> Encode(int level) {
    AddThreads();
    // Windows of many very small weights: rounding could not be corrected, and steps of 1 ns need
    // no rounding.
    unsigned shift = kWeightShift;
    if (!AddSamples(shift)) {
      shift = 0;
      for (std::size_t i = kSampleThread; i < kColumns; ++i) columns_[i] = ColumnWriter{};
      if (!AddSamples(shift))
        return Error{ErrorCode::kInternal, "a window's weights cannot be kept", {}};
    }
    ColumnWriter& head = columns_[kHead];
    head.Add(window_.threads.size());
    head.Add(window_.samples.size());
    head.Add(window_.on_cpu_period_ns);
    head.Add(window_.off_cpu_period_ns);
    head.Add(shift);
    head.Add(window_.start_ns);
    head.Add(window_.end_ns);
    return PackColumns(columns_, level);
  }

 private:
  void AddThreads() {
    order_.resize(window_.threads.size());
    place_of_.resize(window_.threads.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(numbers_.process_of[window_.threads[a].process], numbers_.thread_of[a], a) <
             std::tuple(numbers_.process_of[window_.threads[b].process], numbers_.thread_of[b], b);
    });
    std::uint64_t number = 0;
    std::uint64_t process = 0;
    for (std::uint32_t place = 0; place < order_.size(); ++place) {
      const ProfileThread& thread = window_.threads[order_[place]];
      place_of_[order_[place]] = place;
      columns_[kThread].AddSigned(Difference(numbers_.thread_of[order_[place]], number));
      columns_[kProcess].Add(numbers_.process_of[thread.process] - process);
      number = numbers_.thread_of[order_[place]];
      process = numbers_.process_of[thread.process];
      AddThread(thread);
    }
  }

  void AddThread(const ProfileThread& thread) {
    const bool whole = thread.begin_ns == window_.start_ns && thread.end_ns == window_.end_ns;
    const std::uint64_t idle = IdleKind(thread.clock);
    std::uint64_t flags = idle << kIdleShift;
    if (thread.began) flags |= kBegan;
    if (thread.exited) flags |= kExited;
    if (thread.clock_missing) flags |= kClockMissing;
    if (whole) flags |= kWhole;
    const bool closes =
        idle == 0 && aggregate::ClockTotal(thread.clock) == thread.end_ns - thread.begin_ns;
    if (closes) flags |= kCloses;
    columns_[kThreadFlags].Add(flags);
    if (!whole) columns_[kLife].AddSigned(Difference(thread.begin_ns, window_.start_ns));
    if (!whole && !closes) columns_[kLife].AddSigned(Difference(window_.end_ns, thread.end_ns));
    if (idle != 0) {
      columns_[kIdle].AddSigned(
          Difference(thread.clock.blocked_ns[idle - 1], thread.end_ns - thread.begin_ns));
      return;
    }
    VisitClock(thread.clock, [&](const auto& value) {
      const bool is_known = closes && whole && &value == &thread.clock.on_cpu_ns;
      if (!is_known) columns_[kClock].Add(value);
    });
  }

  bool AddSamples(unsigned shift) {
    last_thread_ = 0;
    last_node_ = 0;
    std::vector<ProfileSample> samples = window_.samples;
    for (auto& sample : samples) sample.thread = place_of_[sample.thread];
    std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.thread, a.state, AttributesOf(a), a.node, a.time_ns) <
             std::tuple(b.thread, b.state, AttributesOf(b), b.node, b.time_ns);
    });
    bool good = true;
    VisitGroups(samples,
                [&](std::span<ProfileSample> group) { good = good && AddGroup(group, shift); });
    return good;
  }

  bool AddGroup(std::span<ProfileSample> group, unsigned shift) {
    const ProfileThread& thread = window_.threads[order_[group[0].thread]];
    const std::uint64_t state_ns = StateClock(thread.clock, group[0].state);
    const std::vector<ProfileSample> truth(group.begin(), group.end());
    for (auto& sample : group) {
      AddPlace(sample);
      const std::uint64_t expected =
          ExpectedRaw(sample, state_ns, window_.on_cpu_period_ns, window_.off_cpu_period_ns);
      const std::int64_t steps = ToSteps(Difference(sample.raw_weight_ns, expected), shift);
      columns_[kRaw].AddSigned(steps);
      sample.raw_weight_ns = AddSteps(expected, steps, shift);
    }
    ExpectWeights(group, state_ns, scratch_);
    std::int64_t carried = 0;  // the rounding error, which the next sample gets
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::int64_t wanted = Difference(truth[i].weight_ns, group[i].weight_ns) + carried;
      const std::int64_t steps = ToSteps(wanted, shift);
      columns_[kWeight].AddSigned(steps);
      group[i].weight_ns = AddSteps(group[i].weight_ns, steps, shift);
      carried += Difference(truth[i].weight_ns, group[i].weight_ns);
    }
    const std::uint64_t sum = SumOfWeights(truth);
    columns_[kSum].AddSigned(Difference(sum, state_ns));
    return CorrectSum(group, sum);
  }

  void AddPlace(const ProfileSample& sample) {
    columns_[kSampleThread].Add(sample.thread - last_thread_);
    columns_[kAttributes].Add(AttributesOf(sample));
    columns_[kNode].AddSigned(Difference(sample.node, last_node_));
    const std::uint64_t length = window_.end_ns - window_.start_ns;
    const std::uint64_t offset =
        std::min(std::max(sample.time_ns, window_.start_ns) - window_.start_ns, length);
    columns_[kTime].Add(length == 0 ? 0 : offset * kTimeSteps / length);
    columns_[kCount].Add(sample.count);
    last_thread_ = sample.thread;
    last_node_ = sample.node;
  }

  const aggregate::Profile& window_;
  const WindowNumbers& numbers_;
  std::array<ColumnWriter, kColumns> columns_;
  std::vector<std::uint32_t> order_;     // place -> index into window_.threads
  std::vector<std::uint32_t> place_of_;  // and back
  std::uint32_t last_thread_ = 0;
  std::uint64_t last_node_ = 0;
  std::vector<aggregate::WeightedSample> scratch_;
};

}  // namespace

Result<std::string> EncodeWindow(const aggregate::Profile& window, const WindowNumbers& numbers,
                                 int level) {
  return Encoder(window, numbers).Encode(level);
}

}  // namespace profd::store
