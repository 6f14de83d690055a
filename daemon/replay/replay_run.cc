#include "daemon/replay/replay_run.h"

#include <algorithm>
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

// The smaller of those that are set.
std::uint64_t Finest(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

// What the recording keeps of ELF files, of the kernel's symbols and of code made at run time.
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
    return result;
  }
};

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
  event.mode = (requested.on_cpu ? 1u : 0u) | (requested.off_cpu ? 2u : 0u);
  event.on_cpu_period_ns = std::max(requested.on_cpu_period_ns, extent_.on_cpu_period_ns);
  event.off_cpu_period_ns = std::max(requested.off_cpu_period_ns, extent_.off_cpu_period_ns);
  event.target = session::FormatTarget(requested.target);
  return event;
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
    waiting.origin.boot_unix_ns = static_cast<std::uint64_t>(info.realtime_offset_ns);
    waiting.origin.innermost_pids = session->spec().target.pidns_inode != 0;
    return waiting;
  });
  TargetSelector selector(session->spec().target);
  pipeline::WorkerStage worker(
      counters, [&](pipeline::PipelineItem&& item) { names.Handle(std::move(item)); },
      [&](const wire::Event& event, const process::ProcessTable& table) {
        return std::uint64_t{selector.Takes(event, table)};
      });

  wire::Decoder decoder;
  std::uint64_t newest_ns = 0;
  const auto sink = [&](const wire::RawEvent& raw) {
    auto event = decoder.Decode(raw);
    if (!event) return;
    newest_ns = std::max(newest_ns, wire::HeaderOf(*event).time_ns);
    if (auto* boundary = std::get_if<wire::SessionEvent>(&*event)) {
      const bool begins = !boundary->end && boundary->epoch == extent_.start->epoch;
      const bool ends = boundary->end && extent_.end && boundary->epoch == extent_.end->epoch;
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
  if (!session->WaitFinished(std::chrono::nanoseconds{0})) {
    // Cut short, or stopped: the session ends where the recording does.
    wire::SessionEvent end = Boundary(*extent_.start, session->spec());
    end.end = true;
    end.header.time_ns = newest_ns;
    end.epoch = 0;
    end.epoch_ns = std::max(newest_ns, extent_.start->epoch_ns + 1);
    names.Handle({std::move(end), nullptr});
  }
  names.Fail(Error{ErrorCode::kCorrupt, path_ + " holds no session that began", ""});
}

}  // namespace profd::replay
