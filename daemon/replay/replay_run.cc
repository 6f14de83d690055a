#include "daemon/replay/replay_run.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "daemon/elf/sources/object_blob.h"
#include "daemon/elf/sources/replay_object_source.h"
#include "daemon/pipeline/stage_counters.h"
#include "daemon/pipeline/symbolizer_stage.h"
#include "daemon/pipeline/worker_stage.h"
#include "daemon/replay/target_selector.h"
#include "daemon/symbolize/cache/caching_symbolizer.h"
#include "daemon/symbolize/live/host_symbolizer.h"
#include "daemon/symbolize/live/jit_symbols.h"
#include "daemon/symbolize/live/kernel_symbols.h"
#include "daemon/wire/decoder.h"

namespace profd::replay {
namespace {

using wire::PollStatus;

constexpr std::size_t kSymbolCacheBytes = 64u << 20;
// What the mode of a session says of hardware counters.
constexpr std::uint32_t kCounters = PROFD_SESSION_COUNTED |
                                    PROFD_SESSION_COUNTERS_MASK << PROFD_SESSION_COUNTERS_SHIFT |
                                    PROFD_SESSION_COUNTERS_REFUSED;

// The smaller one that is not 0.
std::uint64_t Finest(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

// ELF files, symbols of the kernel and code made at run time, as the recording has them.
struct Environment {
  symbolize::ReplayKernelSymbols kernel;
  elf::ReplayObjectSource objects;
  symbolize::ReplayJitSymbols jit;

  Result<void> Load(const recording::RecordingReader& reader) {
    Result<void> result;
    reader.ForEachEnvironment(symbolize::kKallsymsBlobKind,
                              [&](std::string_view, std::string_view value) {
                                if (result) result = kernel.AddBlob(value);
                              });
    reader.ForEachEnvironment(elf::kObjectBlobKind,
                              [&](std::string_view key, std::string_view value) {
                                if (result) result = objects.AddBlob(key, value);
                              });
    reader.ForEachEnvironment(symbolize::kJitBlobKind,
                              [&](std::string_view key, std::string_view value) {
                                if (result) result = jit.AddBlob(key, value);
                              });
    reader.ForEachEnvironment(symbolize::kRegisteredBlobKind,
                              [&](std::string_view key, std::string_view value) {
                                if (result) result = jit.AddRegisteredBlob(key, value);
                              });
    reader.ForEachEnvironment(symbolize::kMadeBlobKind,
                              [&](std::string_view key, std::string_view value) {
                                if (result) result = jit.AddMadeBlob(key, value);
                              });
    return result;
  }
};

// Which items a session needs that ends at `end_ns`, before its recording does. Items come in order
// of time.
class TimeLimit {
 public:
  explicit TimeLimit(std::uint64_t end_ns) : end_ns_(end_ns) {}

  [[nodiscard]] bool Takes(pipeline::PipelineItem& item) {
    if (const auto* sample = std::get_if<process::Sample>(&item.what)) {
      if (sample->time_ns <= end_ns_) return true;
      // A later sample has the stack of an interval that began before the end. What is known of its
      // process may be younger than the end.
      item.process = nullptr;
      return sample->state != process::State::kOnCpu && sample->begin_ns < end_ns_;
    }
    const bool late = TimeOf(item) > end_ns_;
    // Losses until the end are certainly in the first counters after it.
    if (std::holds_alternative<wire::CountersEvent>(item.what))
      return !late || !std::exchange(counted_, true);
    return !late;
  }

 private:
  static std::uint64_t TimeOf(const pipeline::PipelineItem& item) {
    return std::visit(
        [](const auto& what) -> std::uint64_t {
          if constexpr (std::is_same_v<std::decay_t<decltype(what)>, process::Sample>)
            return what.time_ns;
          else
            return what.header.time_ns;
        },
        item.what);
  }

  const std::uint64_t end_ns_;
  bool counted_ = false;  // counters after the end have come
};

// Whether the session needs a stack. Those of threads outside it say what they did while its
// threads waited for them; who ends a wait may be outside, too.
bool Select(wire::StackEvent& event, bool member, bool wakers) {
  event.followed_sessions = member ? 0 : 1;
  if (!event.wake_up) return member || wakers;
  event.wake_up->foreign_sessions = 0;  // of the sessions that were recorded
  return wakers;
}

}  // namespace

Result<std::unique_ptr<ReplayRun>> ReplayRun::Open(const std::string& path) {
  auto first = recording::RecordingReader::Open(path);
  if (!first) return first.error();
  recording::ReplaySource scanned(std::move(*first));
  auto extent = Scan(scanned);
  if (!extent) return extent.error().Wrap("cannot replay " + path);
  if (!extent->start)
    return Error{ErrorCode::kNotFound, path + " holds no session",
                 "record while `profctl collect` runs"};
  auto second = recording::RecordingReader::Open(path);
  if (!second) return second.error();
  return std::unique_ptr<ReplayRun>(new ReplayRun(
      path, std::move(*extent), std::make_unique<recording::ReplaySource>(std::move(*second))));
}

Result<ReplayRun::Extent> ReplayRun::Scan(recording::ReplaySource& source) {
  Extent extent;
  wire::Decoder decoder;
  const auto sink = [&](const wire::RawEvent& raw) {
    auto event = decoder.Decode(raw);
    if (!event) return;
    const auto* session = std::get_if<wire::SessionEvent>(&*event);
    if (session == nullptr) return;
    if (session->end) {
      extent.end = *session;
      return;
    }
    if (!extent.start) extent.start = *session;
    if ((session->mode & PROFD_SESSION_WAKERS) != 0) extent.wakers = true;
    if ((session->mode & PROFD_SESSION_SWITCHES) != 0) extent.switches = true;
    if ((session->mode & PROFD_SESSION_COUNTED) != 0) extent.counters |= session->mode & kCounters;
    extent.on_cpu_period_ns = Finest(extent.on_cpu_period_ns, session->on_cpu_period_ns);
    extent.off_cpu_period_ns = Finest(extent.off_cpu_period_ns, session->off_cpu_period_ns);
  };
  while (true) {
    const auto polled = source.Poll(std::chrono::milliseconds{0}, sink);
    if (!polled) return polled.error();
    if (*polled == PollStatus::kEnd) return extent;
  }
}

std::uint64_t ReplayRun::start_unix_ns() const {
  return extent_.start->epoch_ns +
         static_cast<std::uint64_t>(source_->recording().info().realtime_offset_ns);
}

wire::SessionEvent ReplayRun::Boundary(const wire::SessionEvent& recorded,
                                       const session::SessionSpec& requested) const {
  wire::SessionEvent event = recorded;
  event.session = 0;
  event.header.sessions = 1;
  event.mode = (requested.on_cpu ? PROFD_SESSION_ON_CPU : 0u) |
               (requested.off_cpu ? PROFD_SESSION_OFF_CPU : 0u) |
               (HasWakers(requested) ? PROFD_SESSION_WAKERS : 0u) |
               (extent_.switches && requested.switches ? PROFD_SESSION_SWITCHES : 0u) |
               (requested.counters ? extent_.counters : 0u);
  event.on_cpu_period_ns = std::max(requested.on_cpu_period_ns, extent_.on_cpu_period_ns);
  event.off_cpu_period_ns = std::max(session::NearestOffCpuPeriodNs(requested.off_cpu_period_ns),
                                     extent_.off_cpu_period_ns);
  event.target = session::FormatTarget(requested.target);
  return event;
}

std::uint64_t ReplayRun::LimitNs(const session::SessionSpec& requested) const {
  const std::uint64_t start_ns = extent_.start->epoch_ns;
  const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - start_ns;
  return start_ns + (requested.recorded_ns == 0 ? left : std::min(left, requested.recorded_ns));
}

wire::SessionEvent ReplayRun::EarlyEnd(const session::SessionSpec& requested,
                                       std::uint64_t newest_ns) const {
  wire::SessionEvent end = Boundary(*extent_.start, requested);
  const std::uint64_t limit_ns = LimitNs(requested);
  end.end = true;
  end.header.time_ns = newest_ns;
  // Only the readings of the start belong to a session that ends at the limit. A recording that is
  // cut off has no reliable readings at all.
  const bool limited = newest_ns >= limit_ns;
  end.epoch = limited ? extent_.start->epoch : 0;
  end.epoch_ns = limited ? limit_ns : std::max(newest_ns, extent_.start->epoch_ns + 1);
  return end;
}

void ReplayRun::Run(const std::shared_ptr<pipeline::Session>& session,
                    const std::stop_token& stop) {
  const auto& info = source_->recording().info();
  Environment environment;
  if (const auto loaded = environment.Load(source_->recording()); !loaded) {
    session->Finish(loaded.error().Wrap("cannot replay " + path_));
    return;
  }
  symbolize::HostSymbolizer host(environment.kernel, environment.objects, &environment.jit);
  symbolize::CachingSymbolizer symbolizer(host, kSymbolCacheBytes);
  pipeline::StageCounters counters;
  pipeline::SymbolizerStage names(symbolizer, counters, [&](const wire::SessionEvent&) {
    pipeline::SymbolizerStage::Waiting waiting{session, {}, extent_.on_cpu_period_ns};
    waiting.origin.host = info.host;
    waiting.origin.kernel = info.kernel_release;
    waiting.origin.profd_version = info.profd_version;
    waiting.origin.cpu_places = info.cpu_places;
    waiting.origin.boot_unix_ns = static_cast<std::uint64_t>(info.realtime_offset_ns);
    waiting.origin.innermost_pids = session->spec().target.pidns_inode != 0;
    return waiting;
  });
  TargetSelector selector(session->spec().target, info.host);
  const bool wakers = HasWakers(session->spec());
  const std::uint64_t limit_ns = LimitNs(session->spec());
  TimeLimit limit(limit_ns);
  pipeline::WorkerStage worker(
      counters,
      [&](pipeline::PipelineItem&& item) {
        if (limit.Takes(item)) names.Handle(std::move(item));
      },
      [&](wire::Event& event, const process::ProcessTable& table) {
        const bool member = selector.Takes(event, table);
        auto* stack = std::get_if<wire::StackEvent>(&event);
        return std::uint64_t{stack == nullptr ? member : Select(*stack, member, wakers)};
      });

  wire::Decoder decoder;
  std::uint64_t newest_ns = 0;
  const auto sink = [&](const wire::RawEvent& raw) {
    auto event = decoder.Decode(raw);
    if (!event) return;
    newest_ns = std::max(newest_ns, wire::HeaderOf(*event).time_ns);
    if (auto* boundary = std::get_if<wire::SessionEvent>(&*event)) {
      const bool begins = !boundary->end && boundary->epoch == extent_.start->epoch;
      const bool ends = boundary->end && extent_.end && boundary->epoch == extent_.end->epoch &&
                        boundary->epoch_ns <= limit_ns;
      if (!begins && !ends) return;
      *boundary = Boundary(*boundary, session->spec());
    }
    worker.Push(std::move(*event));
  };
  while (!stop.stop_requested()) {
    const auto polled = source_->Poll(std::chrono::milliseconds{0}, sink);
    if (!polled) {
      session->Finish(polled.error().Wrap("cannot replay " + path_));
      return;
    }
    worker.Advance(newest_ns);
    names.Report();
    if (*polled == PollStatus::kEnd) break;
  }
  worker.Flush();
  if (!session->WaitFinished(std::chrono::nanoseconds{0}))
    names.Handle({EarlyEnd(session->spec(), newest_ns), nullptr});
  names.Fail(Error{ErrorCode::kCorrupt, path_ + " holds no session that began", ""});
}

}  // namespace profd::replay
