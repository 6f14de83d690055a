#include "daemon/store/codec/window_codec.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "daemon/aggregate/weights/weights.h"
#include "daemon/store/codec/columns.h"
#include "daemon/store/codec/path_codec.h"

namespace profd::store {
namespace {

using aggregate::ProfileSample;
using aggregate::ProfileThread;
using aggregate::StateClock;
using process::State;

// Layout: the columns, and the predictions. The encoder stores only the difference from a
// prediction that the decoder can repeat. Differences are small, and small numbers compress well.

// In the order of the bytes.
enum Column : std::size_t {
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
// 2 bits: 1 + index of the only blocked_ns that is not 0; 0: the thread is not idle. Most threads
// of a host only sleep, so their whole clock is one number.
constexpr unsigned kIdleShift = 4;
// The thread is not idle, and its clock adds up to its lifetime. So one number follows from the
// others and is left out: on_cpu_ns of the clock if kWhole, otherwise the thread's end.
constexpr std::uint64_t kCloses = 64;
// A group of short-lived threads: kLife goes on with the sum of its clock less that of the lives of
// its threads, the number of threads, and that of the processes (0: the process is no group). It is
// neither idle, nor whole, nor does it close.
constexpr std::uint64_t kGroup = 128;
// Some time of the thread was stolen: its clock has two more numbers.
constexpr std::uint64_t kStolen = 256;
constexpr std::uint64_t kThreadFlagsEnd = 512;

constexpr std::uint64_t kTimeSteps = 1u << 14;  // of the window, for the time of a sample
// Raw weights and weights of single samples are kept in steps of 2^16 ns.
constexpr unsigned kWeightShift = 16;

// Visits all fields of a clock, in the order of their column; stolen time only if there is some.
template <typename Clock, typename Visit>
void VisitClock(Clock& clock, bool stolen, const Visit& visit) {
  visit(clock.on_cpu_ns);
  for (auto& ns : clock.runnable_ns) visit(ns);
  for (auto& ns : clock.blocked_ns) visit(ns);
  visit(clock.on_cpu_count);
  for (auto& count : clock.runnable_count) visit(count);
  for (auto& count : clock.blocked_count) visit(count);
  visit(clock.migrations);
  if (!stolen) return;
  for (auto& ns : clock.stolen_ns) visit(ns);
}

// State, wait reason, GIL word, exact and stack flags as one number. The wait reason has four bits.
static_assert(process::kWaitReasons.size() <= 16);
std::uint64_t PackAttributes(const ProfileSample& sample) {
  return static_cast<std::uint64_t>(sample.state) | static_cast<std::uint64_t>(sample.wait) << 2 |
         static_cast<std::uint64_t>(sample.gil) << 6 | std::uint64_t{sample.exact} << 9 |
         std::uint64_t{sample.stack_flags} << 10;
}

// False for a number that PackAttributes never gives: enums from a damaged file must not reach code
// that uses them as an index.
bool UnpackAttributes(std::uint64_t attributes, ProfileSample& sample) {
  sample.state = static_cast<State>(attributes & 3);
  sample.wait = static_cast<process::WaitReason>(attributes >> 2 & 15);
  sample.gil = static_cast<process::Gil>(attributes >> 6 & 7);
  sample.exact = (attributes >> 9 & 1) != 0;
  sample.stack_flags = static_cast<std::uint16_t>(attributes >> 10);
  return sample.state <= State::kBlocked && sample.wait <= process::kWaitReasons.back().reason &&
         sample.gil <= process::Gil::kWaited && attributes >> 26 == 0;
}

// The prediction for a raw weight: the clock of the state for exact samples, otherwise one period
// for each sampling point.
std::uint64_t ExpectedRaw(const ProfileSample& sample, std::uint64_t state_ns,
                          std::uint64_t on_cpu_period_ns, std::uint64_t off_cpu_period_ns) {
  if (sample.exact) return state_ns;
  return sample.count * (sample.state == State::kOnCpu ? on_cpu_period_ns : off_cpu_period_ns);
}

// The prediction for the weights of all samples of one thread and state: the raw weights scaled to
// the clock, as the profile builder does. The first sample without a count is "[not sampled]" and
// gets the rest.
void ExpectWeights(std::span<ProfileSample> group, std::uint64_t state_ns,
                   std::vector<aggregate::WeightedSample>& scratch) {
  scratch.clear();
  for (const auto& sample : group) scratch.push_back({sample.raw_weight_ns, sample.exact, 0});
  const std::uint64_t left = aggregate::ScaleToClock(scratch, state_ns);
  for (std::size_t i = 0; i < group.size(); ++i) group[i].weight_ns = scratch[i].weight_ns;
  const auto rest = std::find_if(group.begin(), group.end(),
                                 [](const auto& sample) { return sample.count == 0; });
  if (rest != group.end()) rest->weight_ns += left;
}

std::uint64_t TotalWeight(std::span<const ProfileSample> group) {
  return std::accumulate(group.begin(), group.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& s) { return sum + s.weight_ns; });
}

// `value` plus `steps` of 2^shift; 0 if the result would be negative.
std::uint64_t AddSteps(std::uint64_t value, std::int64_t steps, unsigned shift) {
  const std::uint64_t result = value + (static_cast<std::uint64_t>(steps) << shift);
  return static_cast<std::int64_t>(result) < 0 ? 0 : result;
}

// Corrects the heaviest sample so that the weights add up to `sum`: there the rounding error is the
// smallest share. False: the sample would become negative.
bool CorrectSum(std::span<ProfileSample> group, std::uint64_t sum) {
  const auto heaviest =
      std::max_element(group.begin(), group.end(),
                       [](const auto& a, const auto& b) { return a.weight_ns < b.weight_ns; });
  const std::uint64_t missing = sum - TotalWeight(group);  // modulo 2^64, as are the sums
  const bool takes = static_cast<std::int64_t>(missing) < 0;
  if (takes && heaviest->weight_ns < 0 - missing) return false;
  heaviest->weight_ns += missing;
  return true;
}

// a - b as a signed number. It must be smaller than 2^63.
std::int64_t Difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

// The number of steps of 2^shift that is nearest to `ns`.
std::int64_t ToSteps(std::int64_t ns, unsigned shift) {
  const std::int64_t half = shift == 0 ? 0 : std::int64_t{1} << (shift - 1);
  return (ns + half) >> shift;
}

// 1 + the index into blocked_ns if the thread was in no other state; otherwise 0.
std::uint64_t IdleKind(const profd_clock& clock) {
  std::uint64_t kind = 0;
  std::uint64_t others = 0;
  VisitClock(clock, true, [&](const auto& value) { others += value != 0 ? 1 : 0; });
  for (std::uint64_t i = 0; i < PROFD_BLOCKED_MAX; ++i)
    if (clock.blocked_ns[i] != 0) kind = i + 1;
  return others == 1 ? kind : 0;
}

// Calls `visit` for each run of samples of one thread and state.
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

// Encodes one window. It rounds numbers as the decoder will see them and carries on with the
// rounded ones, so both sides make the same predictions.
class Encoder {
 public:
  Encoder(const aggregate::Profile& window, const WindowNumbers& numbers)
      : window_(window), numbers_(numbers) {}

  Result<EncodedWindow> Encode(int level) {
    AddThreads();
    unsigned shift = kWeightShift;
    if (!AddSamples(shift)) {
      // A group weighs less than its rounding error, so its sum cannot be corrected. Steps of 1 ns
      // have no error.
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
    auto data = PackColumns(columns_, level);
    if (!data) return data.error();
    EncodedWindow encoded{.data = *std::move(data), .paths = std::nullopt};
    if (!window_.wakers) return encoded;
    auto paths =
        EncodePaths(window_, {.position_of = position_of_, .blocked_paths = blocked_paths_}, level);
    if (!paths) return paths.error();
    encoded.paths = *std::move(paths);
    return encoded;
  }

 private:
  void AddThreads() {
    order_.resize(window_.threads.size());
    position_of_.resize(window_.threads.size());
    std::iota(order_.begin(), order_.end(), 0u);
    // Neighbours in this order have near numbers, so the differences are small.
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(numbers_.process_of[window_.threads[a].process], numbers_.thread_of[a], a) <
             std::tuple(numbers_.process_of[window_.threads[b].process], numbers_.thread_of[b], b);
    });
    std::uint64_t number = 0;
    std::uint64_t process = 0;
    for (std::uint32_t position = 0; position < order_.size(); ++position) {
      const ProfileThread& thread = window_.threads[order_[position]];
      position_of_[order_[position]] = position;
      columns_[kThread].AddSigned(Difference(numbers_.thread_of[order_[position]], number));
      columns_[kProcess].Add(numbers_.process_of[thread.process] - process);
      number = numbers_.thread_of[order_[position]];
      process = numbers_.process_of[thread.process];
      AddThread(thread);
    }
  }

  void AddThread(const ProfileThread& thread) {
    const bool is_group = thread.group_size != 0;
    const bool whole =
        !is_group && thread.begin_ns == window_.start_ns && thread.end_ns == window_.end_ns;
    const std::uint64_t idle = is_group ? 0 : IdleKind(thread.clock);
    std::uint64_t flags = idle << kIdleShift;
    if (is_group) flags |= kGroup;
    if (thread.began) flags |= kBegan;
    if (thread.exited) flags |= kExited;
    if (thread.clock_missing) flags |= kClockMissing;
    if (whole) flags |= kWhole;
    const bool closes = !is_group && idle == 0 &&
                        aggregate::ClockTotal(thread.clock) == thread.end_ns - thread.begin_ns;
    if (closes) flags |= kCloses;
    const bool stolen = aggregate::StolenClock(thread.clock) != 0;
    if (stolen) flags |= kStolen;
    columns_[kThreadFlags].Add(flags);
    if (!whole) columns_[kLife].AddSigned(Difference(thread.begin_ns, window_.start_ns));
    if (!whole && !closes) columns_[kLife].AddSigned(Difference(window_.end_ns, thread.end_ns));
    if (is_group) {
      columns_[kLife].AddSigned(
          Difference(aggregate::ClockTotal(thread.clock), thread.group_elapsed_ns));
      columns_[kLife].Add(thread.group_size);
      columns_[kLife].Add(window_.processes[thread.process].group_size);
    }
    if (idle != 0) {
      columns_[kIdle].AddSigned(
          Difference(thread.clock.blocked_ns[idle - 1], thread.end_ns - thread.begin_ns));
      return;
    }
    VisitClock(thread.clock, stolen, [&](const auto& value) {
      const bool is_known = closes && whole && &value == &thread.clock.on_cpu_ns;
      if (!is_known) columns_[kClock].Add(value);
    });
  }

  // False: a group weighs less than its rounding error. Then the next call begins again.
  bool AddSamples(unsigned shift) {
    last_thread_ = 0;
    last_node_ = 0;
    std::vector<ProfileSample> samples = window_.samples;
    for (auto& sample : samples) sample.thread = position_of_[sample.thread];
    // Like samples become neighbours: their attributes repeat, and their nodes differ by little.
    std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.thread, a.state, PackAttributes(a), a.node, a.path, a.time_ns) <
             std::tuple(b.thread, b.state, PackAttributes(b), b.node, b.path, b.time_ns);
    });
    blocked_paths_.clear();
    for (const auto& sample : samples)
      if (sample.state == State::kBlocked) blocked_paths_.push_back(sample.path);
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
      AddIdentity(sample);
      const std::uint64_t expected =
          ExpectedRaw(sample, state_ns, window_.on_cpu_period_ns, window_.off_cpu_period_ns);
      const std::int64_t steps = ToSteps(Difference(sample.raw_weight_ns, expected), shift);
      columns_[kRaw].AddSigned(steps);
      sample.raw_weight_ns = AddSteps(expected, steps, shift);
    }
    ExpectWeights(group, state_ns, scratch_);
    // The next sample gets the rounding error of the one before, so errors do not add up.
    std::int64_t carried = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::int64_t wanted = Difference(truth[i].weight_ns, group[i].weight_ns) + carried;
      const std::int64_t steps = ToSteps(wanted, shift);
      columns_[kWeight].AddSigned(steps);
      group[i].weight_ns = AddSteps(group[i].weight_ns, steps, shift);
      carried += Difference(truth[i].weight_ns, group[i].weight_ns);
    }
    // The sum is stored exactly: mostly it equals the clock, and the difference takes one byte.
    const std::uint64_t sum = TotalWeight(truth);
    columns_[kSum].AddSigned(Difference(sum, state_ns));
    return CorrectSum(group, sum);
  }

  void AddIdentity(const ProfileSample& sample) {
    columns_[kSampleThread].Add(sample.thread - last_thread_);
    columns_[kAttributes].Add(PackAttributes(sample));
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
  std::vector<std::uint32_t> order_;        // position in the columns -> index into window_.threads
  std::vector<std::uint32_t> position_of_;  // and back
  std::vector<std::uint32_t> blocked_paths_;  // of the blocked samples in the columns
  std::uint32_t last_thread_ = 0;
  std::uint64_t last_node_ = 0;
  std::vector<aggregate::WeightedSample> scratch_;
};

constexpr std::size_t kMaxThreads = 8u << 20;
constexpr std::uint32_t kUnwanted = UINT32_MAX;

Error Corrupt(const char* message) { return Error{ErrorCode::kCorrupt, message, {}}; }

// Decodes one window. It checks every number: a file with valid checksums can still come from
// another program.
class Decoder {
 public:
  // `paths` null: the window has none.
  Decoder(const UnpackedColumns& columns, PathDecoder* paths, std::uint64_t start_ns,
          std::uint64_t end_ns)
      : start_ns_(start_ns), end_ns_(end_ns), paths_(paths) {
    for (std::size_t i = 0; i < kColumns; ++i) columns_.push_back(columns[i]);
  }

  Result<StoredWindow> Decode(const WantsThread& wants) {
    threads_ = columns_[kHead].Next();
    samples_ = columns_[kHead].Next();
    on_cpu_period_ns_ = columns_[kHead].Next();
    off_cpu_period_ns_ = columns_[kHead].Next();
    shift_ = static_cast<unsigned>(columns_[kHead].Next() & 31);
    // The row of the window has no checksum of its own, so its times are compared with these.
    if (columns_[kHead].Next() != start_ns_ || columns_[kHead].Next() != end_ns_)
      return Corrupt("a window's begin or end is damaged");
    // Each thread and sample takes at least one byte: this bounds the allocations below.
    if (threads_ > kMaxThreads || threads_ > columns_[kThreadFlags].left() ||
        samples_ > columns_[kTime].left())
      return Corrupt("a window says that it holds more than it does");
    if (!ReadThreads(wants)) return Corrupt("the threads of a window are damaged");
    if (paths_ != nullptr && !paths_->Read(threads_))
      return Corrupt("the paths of a window are damaged");
    if (!ReadSamples()) return Corrupt("the samples of a window are damaged");
    // A reader past its end returns zeros, so one check at the end finds every short column.
    for (const auto& column : columns_)
      if (!column.ok() || column.left() != 0) return Corrupt("a window's columns do not fit");
    if (paths_ != nullptr && !paths_->IsAtEnd())
      return Corrupt("the paths of a window do not fit its samples");
    TakePaths();
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
      if (!ReadThread(stored)) return false;
      clocks_.push_back(stored.thread.clock);
      rows_.emplace_back(stored.number, stored.process);
      const bool wanted = wants(stored);
      index_of_.push_back(wanted ? static_cast<std::uint32_t>(window_.threads.size()) : kUnwanted);
      if (wanted) window_.threads.push_back(std::move(stored));
    }
    return true;
  }

  bool ReadThread(StoredThread& stored) {
    ProfileThread& thread = stored.thread;
    const std::uint64_t flags = columns_[kThreadFlags].Next();
    const std::uint64_t idle = flags >> kIdleShift & 3;
    const bool whole = (flags & kWhole) != 0;
    const bool closes = (flags & kCloses) != 0;
    const bool is_group = (flags & kGroup) != 0;
    const bool stolen = (flags & kStolen) != 0;
    if (flags >= kThreadFlagsEnd || idle > PROFD_BLOCKED_MAX || ((closes || stolen) && idle != 0) ||
        (is_group && (closes || whole || idle != 0)))
      return false;
    thread.began = (flags & kBegan) != 0;
    thread.exited = (flags & kExited) != 0;
    thread.clock_missing = (flags & kClockMissing) != 0;
    thread.begin_ns = start_ns_;
    thread.end_ns = end_ns_;
    if (!whole) thread.begin_ns += static_cast<std::uint64_t>(columns_[kLife].NextSigned());
    if (!whole && !closes)
      thread.end_ns -= static_cast<std::uint64_t>(columns_[kLife].NextSigned());
    std::uint64_t less_ns = 0;
    if (is_group) {
      less_ns = static_cast<std::uint64_t>(columns_[kLife].NextSigned());
      thread.group_size = static_cast<std::uint32_t>(columns_[kLife].Next());
      stored.process_group_size = static_cast<std::uint32_t>(columns_[kLife].Next());
      if (thread.group_size == 0) return false;
    }
    if (idle != 0) {
      thread.clock.blocked_ns[idle - 1] = thread.end_ns - thread.begin_ns +
                                          static_cast<std::uint64_t>(columns_[kIdle].NextSigned());
      return true;
    }
    VisitClock(thread.clock, stolen, [&](auto& value) {
      const bool is_known = closes && whole && &value == &thread.clock.on_cpu_ns;
      if (!is_known) value = columns_[kClock].Next();
    });
    if (closes) Close(whole, thread);
    if (is_group) thread.group_elapsed_ns = aggregate::ClockTotal(thread.clock) - less_ns;
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
      if (!UnpackAttributes(columns_[kAttributes].Next(), sample) || thread >= threads_ ||
          node > UINT32_MAX)
        return false;
      if (!group_.empty() && (step != 0 || sample.state != group_[0].state) && !EndGroup())
        return false;
      if (paths_ != nullptr && sample.state == State::kBlocked) {
        const auto path = paths_->NextSample();
        if (!path) return false;
        sample.path = *path;
      }
      sample.thread = static_cast<std::uint32_t>(thread);
      sample.node = static_cast<std::uint32_t>(node);
      ReadMeasures(sample);
      group_.push_back(sample);
    }
    return group_.empty() || EndGroup();
  }

  void ReadMeasures(ProfileSample& sample) {
    // Quotient and remainder apart: length * step could overflow.
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

  // From positions in the columns to what the store knows them by.
  void TakePaths() {
    if (paths_ == nullptr) return;
    window_.wakers = true;
    window_.paths = std::move(paths_->paths());
    for (DecodedPathThread& thread : paths_->threads()) {
      StoredPathThread& added = window_.path_threads.emplace_back();
      added.is_row = thread.position.has_value();
      if (added.is_row) std::tie(added.number, added.process) = rows_[*thread.position];
      added.comm = std::move(thread.comm);
      added.process_comm = std::move(thread.process_comm);
    }
    for (aggregate::WakeUpCount count : paths_->wake_ups()) {
      count.thread = index_of_[count.thread];
      if (count.thread != kUnwanted) window_.wake_ups.push_back(count);
    }
  }

  // Called when all samples of one thread and state are decoded.
  bool EndGroup() {
    const std::uint32_t thread = group_[0].thread;
    const std::uint64_t state_ns = StateClock(clocks_[thread], group_[0].state);
    // The columns must be read for unwanted threads, too. The predictions, which cost most, need
    // not be computed for them.
    const bool wanted = index_of_[thread] != kUnwanted;
    if (wanted) ExpectWeights(group_, state_ns, scratch_);
    for (ProfileSample& sample : group_)
      sample.weight_ns = AddSteps(sample.weight_ns, columns_[kWeight].NextSigned(), shift_);
    const std::uint64_t sum = state_ns + static_cast<std::uint64_t>(columns_[kSum].NextSigned());
    if (wanted) {
      if (!CorrectSum(group_, sum)) return false;
      for (ProfileSample& sample : group_) {
        sample.thread = index_of_[thread];
        window_.samples.push_back(sample);
      }
    }
    group_.clear();
    return true;
  }

  const std::uint64_t start_ns_;
  const std::uint64_t end_ns_;
  PathDecoder* const paths_;
  std::vector<ColumnReader> columns_;
  std::uint64_t threads_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t on_cpu_period_ns_ = 0;
  std::uint64_t off_cpu_period_ns_ = 0;
  unsigned shift_ = 0;
  StoredWindow window_;
  std::vector<profd_clock> clocks_;                            // of all threads, by position
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_;  // their numbers and processes
  std::vector<std::uint32_t> index_of_;  // position -> index into window_.threads
  std::vector<ProfileSample> group_;
  std::vector<aggregate::WeightedSample> scratch_;
};

}  // namespace

Result<EncodedWindow> EncodeWindow(const aggregate::Profile& window, const WindowNumbers& numbers,
                                   int level) {
  return Encoder(window, numbers).Encode(level);
}

Result<StoredWindow> DecodeWindow(const EncodedBytes& bytes, std::uint64_t start_ns,
                                  std::uint64_t end_ns, const WantsThread& wants) {
  const auto columns = UnpackedColumns::From(bytes.data, kColumns);
  if (!columns) return columns.error();
  std::optional<PathDecoder> paths;
  if (bytes.paths) {
    auto from = PathDecoder::From(*bytes.paths);
    if (!from) return from.error();
    paths.emplace(*std::move(from));
  }
  return Decoder(*columns, paths ? &*paths : nullptr, start_ns, std::max(start_ns, end_ns))
      .Decode(wants);
}

}  // namespace profd::store
