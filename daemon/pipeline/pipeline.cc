#include "daemon/pipeline/pipeline.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/base/proc/own_usage.h"
#include "daemon/pipeline/symbolizer_stage.h"
#include "daemon/pipeline/worker_stage.h"
#include "daemon/wire/decoder.h"

namespace profd::pipeline {
namespace {

using std::chrono::milliseconds;
using wire::PollStatus;

constexpr milliseconds kPoll{100};

constexpr std::uint64_t kNodeBytes = 48;  // of a stack tree, about

void NameThread(const char* name) { pthread_setname_np(pthread_self(), name); }

// How many batches of items a queue of so many bytes holds.
std::size_t Batches(std::uint64_t bytes, std::uint64_t item_bytes) {
  return std::max<std::uint64_t>(bytes / item_bytes / BatchSender<int>::kBatch, 4);
}

aggregate::ProfileBuilder::Limits SessionLimits(std::uint64_t bytes) {
  aggregate::ProfileBuilder::Limits limits;
  limits.parts = std::min<std::size_t>(limits.parts, bytes / sizeof(aggregate::SamplePart));
  limits.nodes = std::min<std::size_t>(limits.nodes, bytes / kNodeBytes);
  return limits;
}

}  // namespace

LivePipeline::LivePipeline(Parts parts)
    : parts_(std::move(parts)),
      events_(Batches(parts_.memory.limits().queue, kEventBytes)),
      items_(Batches(parts_.memory.limits().queue, kItemBytes)),
      symbolizer_thread_([this] { Symbolize(); }),
      worker_thread_([this] { Work(); }),
      reader_thread_([this](const std::stop_token& stop) { Read(stop); }) {}

LivePipeline::~LivePipeline() { Stop(); }

void LivePipeline::FinishWithin(std::chrono::nanoseconds time) {
  deadline_ns_ = parts_.clock.MonotonicNs() + static_cast<std::uint64_t>(time.count());
}

bool LivePipeline::IsPastDeadline() const {
  const std::uint64_t deadline_ns = deadline_ns_.load(std::memory_order_relaxed);
  // Without a deadline the clock is not read for each event.
  return deadline_ns != UINT64_MAX && parts_.clock.MonotonicNs() >= deadline_ns;
}

void LivePipeline::Stop() {
  SetFailure(Error{ErrorCode::kUnavailable, "profd is shutting down", ""});
  const bool ran = reader_thread_.joinable();
  // Each stage closes the queue behind it when it is done, which ends the next stage.
  reader_thread_.request_stop();
  for (auto* thread : {&reader_thread_, &worker_thread_, &symbolizer_thread_})
    if (thread->joinable()) thread->join();
  if (ran) parts_.logger.info(AccountOfSamples(counters_, parts_.control.Status().counters));
}

std::uint64_t LivePipeline::StageCpuNs() {
  std::uint64_t sum = 0;
  for (auto* thread : {&reader_thread_, &worker_thread_, &symbolizer_thread_})
    sum += ThreadCpuNs(thread->native_handle());
  return sum;
}

void LivePipeline::Count(const wire::StackEvent& event) {
  const bool background = (event.flags & PROFD_SAMPLE_BACKGROUND) != 0;
  switch (event.origin) {
    case wire::SampleOrigin::kOnCpu:
      counters_.on_cpu_read.Add();
      if (background) counters_.background_on_cpu_read.Add();
      return;
    case wire::SampleOrigin::kOffCpu:
      counters_.off_cpu_read.Add();
      if (background) counters_.background_off_cpu_read.Add();
      return;
    case wire::SampleOrigin::kSnapshot:
      return counters_.snapshots_read.Add();
    case wire::SampleOrigin::kWaker:
      return counters_.wakers_read.Add();
  }
}

void LivePipeline::Read(const std::stop_token& stop) {
  NameThread("profd-reader");
  const Heartbeat::Working working(beats_.reader);
  wire::Decoder decoder;
  BatchSender<wire::Event> sender(events_, counters_.queue_full);
  const auto sink = [&](const wire::RawEvent& raw) {
    auto event = decoder.Decode(raw);
    if (!event) return;  // the decoder has counted it
    if (const auto* stack = std::get_if<wire::StackEvent>(&*event))
      Count(*stack);
    else
      counters_.others_read.Add();
    // The earlier a sample is dropped, the less it costs.
    if (MayDrop(*event)) {
      if (parts_.memory.full()) return counters_.memory_events.Add();
      if (IsPastDeadline()) return counters_.ending_events.Add();
    }
    sender.Add(*std::move(event));
  };
  bool detached = false;
  while (true) {
    // After the programs are detached, the rings still have events; the loop ends when it finds
    // none.
    if (stop.stop_requested() && !std::exchange(detached, true)) parts_.control.Detach();
    // Read before Poll: all events up to this time are in what Poll delivers.
    const std::uint64_t now_ns = parts_.clock.MonotonicNs();
    const auto polled = parts_.source.Poll(detached ? milliseconds{0} : kPoll, sink);
    beats_.reader.Beat();
    counters_.undecodable.Set(decoder.Counters().Rejected());
    if (!polled) {
      parts_.logger.error("no more events: {}", polled.error().message);
      SetFailure(polled.error().Wrap("profd lost its event source"));
      break;
    }
    sender.Send(now_ns);
    memory_.queues.Set((events_.size() * kEventBytes + items_.size() * kItemBytes) *
                       BatchSender<wire::Event>::kBatch);
    if (*polled == PollStatus::kEnd)
      SetFailure(Error{ErrorCode::kUnavailable, "there are no more events", ""});
    if (*polled == PollStatus::kEnd || (detached && *polled == PollStatus::kTimeout)) break;
  }
  (void)sender.SendAll();
  events_.Close();
}

void LivePipeline::Work() {
  NameThread("profd-worker");
  const Heartbeat::Working working(beats_.worker);
  BatchSender<PipelineItem> sender(items_, counters_.names_behind);
  WorkerStage stage(counters_, [&](PipelineItem&& item) { sender.Add(std::move(item)); });
  while (auto batch = events_.Pop()) {
    for (auto& event : batch->items) stage.Push(std::move(event));
    stage.Advance(batch->now_ns);
    stage.AccountForMemory(memory_.processes);
    sender.Send(batch->now_ns);
    beats_.worker.Beat();
  }
  stage.Flush();
  (void)sender.SendAll();
  items_.Close();
}

void LivePipeline::Symbolize() {
  NameThread("profd-symbolize");
  const Heartbeat::Working working(beats_.symbolizer);
  symbolize::Symbolizer& symbolizer = parts_.names.symbolizer();
  symbolizer.Prepare();
  SymbolizerStage stage(symbolizer, counters_,
                        [this](const wire::SessionEvent& event) {
                          SymbolizerStage::Waiting waiting{TakeExpected(event), parts_.origin};
                          waiting.origin.innermost_pids =
                              waiting.session && waiting.session->spec().target.pidns_inode != 0;
                          if ((event.mode & PROFD_SESSION_BACKGROUND) == 0)
                            waiting.cpu_limits =
                                std::make_unique<CpuLimitWatch>(parts_.proc, parts_.cgroups);
                          waiting.beyond_shares = parts_.beyond_shares;
                          return waiting;
                        },
                        {.session = SessionLimits(parts_.memory.limits().session)});
  constexpr std::uint64_t kFlushNs = 1'000'000'000;
  std::uint64_t flushed_ns = 0;
  while (auto batch = items_.Pop()) {
    for (auto& item : batch->items) {
      if (parts_.memory.full() && MayDrop(item))
        counters_.memory_items.Add();
      else if (MayDrop(item) && IsPastDeadline())
        counters_.ending_items.Add();
      else
        stage.Handle(std::move(item));
      beats_.symbolizer.Beat();
    }
    stage.Report();
    parts_.names.ReclaimMemory();
    stage.AccountForMemory(memory_.frames, memory_.sessions);
    beats_.symbolizer.Beat();
    if (batch->now_ns - flushed_ns < kFlushNs) continue;
    flushed_ns = batch->now_ns;
    parts_.names.RecordEnvironment();
  }
  parts_.names.RecordEnvironment();
  FailAll(stage);
}

void LivePipeline::FailAll(SymbolizerStage& stage) {
  const std::scoped_lock lock(mutex_);
  const Error error = failure_.value_or(Error{ErrorCode::kInternal, "events have ended", ""});
  stage.Fail(error);
  for (const auto& expected : expected_) expected.session->Finish(error);
  expected_.clear();
}

Result<std::shared_ptr<Session>> LivePipeline::Start(std::uint32_t id,
                                                     const session::SessionSpec& requested) {
  if (parts_.memory.full())
    return Error{ErrorCode::kExhausted, "profd is near its memory cap: no new session",
                 "try again, or raise memory.cap; `profctl status` shows what holds memory"};
  session::SessionSpec spec = requested;
  // Without the lock: it takes time, and a window of the history may begin meanwhile.
  if (spec.target.kind == session::TargetKind::kLabels) PROFD_TRY(Resolve(spec));
  const std::scoped_lock start_lock(start_mutex_);
  // Ids of the pid namespace of profd itself need no translation.
  if (spec.target.pidns_inode == OwnPidNamespace(parts_.proc)) spec.target.pidns_inode = 0;
  return StartExpected(id, spec, [&] { return parts_.control.StartSession(spec); });
}

Result<void> LivePipeline::Resolve(session::SessionSpec& spec) const {
  if (!parts_.find_labelled)
    return Error{ErrorCode::kUnsupported, "this profd finds no processes by labels", ""};
  auto pids = parts_.find_labelled(spec.target);
  if (!pids) return pids.error();
  spec.target.kind = session::TargetKind::kPids;
  spec.target.ids = *std::move(pids);
  spec.target.pidns_inode = 0;
  if (spec.steps_of_few && spec.target.ids.size() > session::kFewTargets) spec.steps.clear();
  return {};
}

Result<std::shared_ptr<Session>> LivePipeline::Roll(const std::shared_ptr<Session>& session,
                                                    std::uint32_t id) {
  const std::scoped_lock start_lock(start_mutex_);
  std::uint32_t slot = 0;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = slots_.find(session->id());
    if (found == slots_.end())
      return Error{ErrorCode::kNotFound, "the session to continue has ended", ""};
    slot = found->second;
  }
  auto next = StartExpected(id, session->spec(), [&] { return parts_.control.RollSession(slot); });
  if (!next) return next;
  const std::scoped_lock lock(mutex_);
  slots_.erase(session->id());
  return next;
}

Result<std::shared_ptr<Session>> LivePipeline::StartExpected(std::uint32_t id,
                                                             const session::SessionSpec& spec,
                                                             const StartSession& start_session) {
  auto start = DescribeTarget(spec.target, parts_.proc, parts_.command_line);
  start.start_ns = parts_.clock.MonotonicNs();
  start.start_unix_ns = parts_.origin.boot_unix_ns + start.start_ns;
  auto session = std::make_shared<Session>(id, spec, std::move(start), parts_.clock);
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) return *failure_;
    // The start event may come before StartSession returns.
    expected_.push_back({session, std::nullopt});
  }
  const auto started = start_session();
  const std::scoped_lock lock(mutex_);
  const auto mine = std::find_if(expected_.begin(), expected_.end(), [&](const Expected& expected) {
    return expected.session == session;
  });
  if (!started) {
    if (mine != expected_.end()) expected_.erase(mine);
    return started.error();
  }
  // The symbolizer thread may have taken it already.
  if (mine != expected_.end()) mine->slot = started->number;
  slots_[id] = started->number;
  session->ReportBegin(started->start_ns);
  return session;
}

std::shared_ptr<Session> LivePipeline::TakeExpected(const wire::SessionEvent& event) {
  const std::scoped_lock lock(mutex_);
  if (expected_.empty()) return nullptr;
  // The event belongs to a start that failed after the BPF side had reported it. The first expected
  // session still waits for its own event.
  if (expected_.front().slot && *expected_.front().slot != event.session) return nullptr;
  auto session = std::move(expected_.front().session);
  expected_.pop_front();
  return session;
}

void LivePipeline::End(const std::shared_ptr<Session>& session) {
  std::uint32_t slot = 0;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = slots_.find(session->id());
    if (found == slots_.end()) return;
    slot = found->second;
    slots_.erase(found);
  }
  const auto stopped = parts_.control.StopSession(slot);
  if (stopped) return;  // its end event finishes the session
  parts_.logger.error("session {}: cannot end it: {}", session->id(), stopped.error().message);
  session->Finish(stopped.error());
}

std::vector<budget::MemoryAccount*> LivePipeline::memory_accounts() {
  return {&memory_.frames, &memory_.processes, &memory_.queues, &memory_.sessions};
}

void LivePipeline::SetFailure(Error error) {
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = std::move(error);
}

}  // namespace profd::pipeline
