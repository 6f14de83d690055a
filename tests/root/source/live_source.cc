#include "tests/root/source/live_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "bpf/shared/points.h"
#include "daemon/elf/probes/step_places.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/observe/observer_parser.h"
#include "daemon/source/observe/observers.h"
#include "daemon/source/procfs/process_texts.h"
#include "daemon/source/sessions/blocked_stacks.h"
#include "daemon/source/steps/step_attacher.h"
#include "daemon/wire/decoder.h"

namespace profd::source {
namespace {

// Only a hang takes so long.
constexpr std::chrono::seconds kLongest{60};

template <typename Values>
std::uint64_t Sum(const Values& values) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values) sum += value;
  return sum;
}

}  // namespace

std::uint64_t BlockedOf(const profd_clock& clock) { return Sum(clock.blocked_ns); }
std::uint64_t RunnableOf(const profd_clock& clock) { return Sum(clock.runnable_ns); }
std::uint64_t StolenOf(const profd_clock& clock) { return Sum(clock.stolen_ns); }
std::uint64_t SumOf(const profd_clock& clock) {
  return clock.on_cpu_ns + BlockedOf(clock) + RunnableOf(clock) + StolenOf(clock);
}

profd_clock Growth(const profd_clock& from, const profd_clock& to) {
  profd_clock growth{};
  const auto* a = reinterpret_cast<const __u64*>(&from);
  const auto* b = reinterpret_cast<const __u64*>(&to);
  auto* out = reinterpret_cast<__u64*>(&growth);
  for (std::size_t i = 0; i < sizeof(growth) / sizeof(__u64); ++i) out[i] = b[i] - a[i];
  return growth;
}

std::vector<wire::StackEvent> Heard::Stacks(std::uint32_t tid, wire::SampleOrigin origin) const {
  std::vector<wire::StackEvent> stacks = All<wire::StackEvent>();
  std::erase_if(stacks, [&](const wire::StackEvent& stack) {
    return stack.header.thread.tid != tid || stack.origin != origin ||
           (stack.header.sessions >> start.session & 1) == 0 ||
           (origin != wire::SampleOrigin::kSnapshot &&
            (stack.header.time_ns < start.epoch_ns || stack.header.time_ns > end.epoch_ns));
  });
  return stacks;
}

std::optional<wire::ClockEvent> Heard::AtStart(std::uint32_t tid) const {
  for (const auto& clock : All<wire::ClockEvent>())
    if (!clock.end && clock.epoch == start.epoch && clock.header.thread.tid == tid &&
        (clock.header.sessions >> start.session & 1) != 0)
      return clock;
  return std::nullopt;
}

std::uint64_t WokenNs(const wire::StackEvent& stack) {
  return stack.header.time_ns - std::min(stack.runnable_ns, stack.header.time_ns - stack.begin_ns);
}

std::size_t Heard::CheckPoints() const {
  std::size_t stacks = 0;
  EXPECT_NE(point_seed, 0u);
  for (const auto& stack : All<wire::StackEvent>()) {
    if (stack.origin != wire::SampleOrigin::kOffCpu) continue;
    ++stacks;
    const std::uint32_t halvings =
        stack.flags >> PROFD_SAMPLE_HALVINGS_SHIFT & PROFD_SAMPLE_HALVINGS_MASK;
    const std::uint64_t period_ns = stack.period_ns >> halvings;
    EXPECT_TRUE(std::has_single_bit(period_ns)) << period_ns;
    const auto level = static_cast<std::uint32_t>(std::countr_zero(period_ns));
    const auto in = [&](std::uint64_t from, std::uint64_t to) {
      return profd_points_in(point_seed, level, from, to);
    };
    EXPECT_EQ(stack.blocked_points, in(stack.begin_ns, WokenNs(stack)));
    EXPECT_EQ(stack.runnable_points, in(WokenNs(stack), stack.header.time_ns));
    EXPECT_GT(stack.blocked_points + stack.runnable_points, 0u);
  }
  return stacks;
}

std::optional<wire::ClockEvent> Heard::AtEnd(std::uint32_t tid) const {
  for (const auto& clock : All<wire::ClockEvent>())
    if ((clock.end || clock.epoch == end.epoch) && clock.header.thread.tid == tid &&
        (clock.header.sessions >> end.session & 1) != 0)
      return clock;
  return std::nullopt;
}

Result<std::unique_ptr<LiveSource>> LiveSource::Start(const BpfSourceOptions& options,
                                                      const Prepare& prepare) {
  // Processes, as in profd: what a test does to its targets must not hold up the test.
  auto zygote = reader::Zygote::Start(
      {{"test-snapshot", {}, [] { return std::make_unique<IteratorParser>(); }},
       {"test-process", {}, [] { return std::make_unique<ProcessTextParser>(); }, true},
       {"test-observer",
        {.runs_programs = true},
        [] { return std::make_unique<ObserverParser>(); }},
       {"test-places", {}, [] { return std::make_unique<elf::ProbeParser>(); }},
       {"test-steps",
        {.attaches_programs = true},
        [] { return std::make_unique<StepAttacher>(); },
        true}});
  if (!zygote) return zygote.error();
  auto snapshots = std::make_unique<reader::ReaderPool>(
      **zygote, 0,
      reader::ReaderPool::Options{
          .processes = 2, .deadline = BlockedStacks::kTimeout, .pauses = false});
  auto processes = std::make_unique<reader::ReaderPool>(**zygote, 1, reader::ReaderPool::Options{});
  auto observers = std::make_unique<reader::ReaderPool>(
      **zygote, 2,
      reader::ReaderPool::Options{
          .processes = 4, .deadline = Observers::kDeadline, .pauses = false});
  auto source = BpfSource::Create({*snapshots, *processes, *observers}, options);
  if (!source) return source.error();
  auto step_places =
      std::make_unique<reader::ReaderPool>(**zygote, 3, reader::ReaderPool::Options{});
  auto places = std::make_shared<elf::StepPlaces>(*step_places);
  (*source)->UseSteps(
      {.make_attacher = [&zygote = **zygote] { return zygote.Make(4); },
       .find = [places](const ExecutableFile& file,
                        const session::StepSpec& spec) { return places->Find(file, spec); }});
  auto prepared = prepare ? prepare(**source) : nullptr;
  return std::unique_ptr<LiveSource>(new LiveSource(
      *std::move(zygote), std::move(snapshots), std::move(processes), std::move(observers),
      std::move(step_places), *std::move(source), std::move(prepared)));
}

LiveSource::LiveSource(std::unique_ptr<reader::Zygote> zygote,
                       std::unique_ptr<reader::Readers> snapshots,
                       std::unique_ptr<reader::Readers> processes,
                       std::unique_ptr<reader::Readers> observers,
                       std::unique_ptr<reader::Readers> step_places,
                       std::unique_ptr<BpfSource> source, std::shared_ptr<void> prepared)
    : zygote_(std::move(zygote)),
      snapshots_(std::move(snapshots)),
      processes_(std::move(processes)),
      observers_(std::move(observers)),
      step_places_(std::move(step_places)),
      source_(std::move(source)),
      prepared_(std::move(prepared)),
      poller_([this](const std::stop_token& stop) { PollUntil(stop); }) {}

LiveSource::~LiveSource() = default;

void LiveSource::PollUntil(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto polled =
        source_->Poll(std::chrono::milliseconds(50), [this](const wire::RawEvent& raw) {
          auto event = wire::DecodeEvent(raw);
          if (!event) {
            ADD_FAILURE() << event.error().message;
            return;
          }
          const std::scoped_lock lock(mutex_);
          events_.push_back(*std::move(event));
        });
    if (!polled) {
      ADD_FAILURE() << polled.error().message;
      return;
    }
    heard_.notify_all();
  }
}

std::uint32_t LiveSource::Begin(const session::SessionSpec& spec) {
  std::size_t before = 0;
  {
    const std::scoped_lock lock(mutex_);
    before = events_.size();
  }
  const auto session = source_->StartSession(spec);
  if (!session) {
    ADD_FAILURE() << session.error().message;
    return PROFD_MAX_SESSIONS;
  }
  const std::scoped_lock lock(mutex_);
  begun_[session->number] = before;
  return session->number;
}

Heard LiveSource::End(std::uint32_t session) {
  const auto stopped = source_->StopSession(session);
  if (!stopped) {
    ADD_FAILURE() << stopped.error().message;
    return {};
  }
  return Await(session);
}

std::uint32_t LiveSource::Roll(std::uint32_t session) {
  std::size_t before = 0;
  {
    const std::scoped_lock lock(mutex_);
    before = events_.size();
  }
  const auto next = source_->RollSession(session);
  if (!next) {
    ADD_FAILURE() << next.error().message;
    return PROFD_MAX_SESSIONS;
  }
  const std::scoped_lock lock(mutex_);
  begun_[next->number] = before;
  return next->number;
}

Heard LiveSource::Await(std::uint32_t session) {
  const auto is_of = [&](const wire::Event& event, bool end) {
    const auto* of = std::get_if<wire::SessionEvent>(&event);
    return of != nullptr && of->session == session && of->end == end;
  };
  std::unique_lock lock(mutex_);
  const auto first = static_cast<std::ptrdiff_t>(begun_[session]);
  const auto is_end = [&](const wire::Event& event) { return is_of(event, true); };
  const auto has_end = [&] { return std::any_of(events_.begin() + first, events_.end(), is_end); };
  if (!heard_.wait_for(lock, kLongest, has_end)) {
    ADD_FAILURE() << "no end event of session " << session;
    return {};
  }

  Heard heard;
  heard.events.assign(events_.begin() + first, events_.end());
  for (const wire::Event& event : events_)
    if (const auto* periods = std::get_if<wire::PeriodsEvent>(&event))
      heard.point_seed = periods->point_seed;
  for (const wire::Event& event : heard.events) {
    if (is_of(event, false)) heard.start = std::get<wire::SessionEvent>(event);
    if (is_of(event, true)) heard.end = std::get<wire::SessionEvent>(event);
  }
  return heard;
}

bool LiveSource::AwaitStacks(std::uint32_t session, std::size_t count,
                             const std::function<bool(const wire::StackEvent&)>& wanted) {
  std::unique_lock lock(mutex_);
  std::size_t next = begun_[session];
  std::size_t found = 0;
  return heard_.wait_for(lock, kLongest, [&] {
    for (; next < events_.size(); ++next) {
      const auto* stack = std::get_if<wire::StackEvent>(&events_[next]);
      if (stack != nullptr && wanted(*stack)) ++found;
    }
    return found >= count;
  });
}

}  // namespace profd::source
