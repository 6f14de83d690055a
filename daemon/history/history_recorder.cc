#include "daemon/history/history_recorder.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "daemon/budget/cpu/period_controller.h"

namespace profd::history {
namespace {

using std::chrono::steady_clock;

// Sessions of clients are numbered from 1.
constexpr std::uint32_t kFirstId = 1u << 31;
// The total length of windows that may wait for their profile and for the store.
constexpr std::chrono::seconds kWaiting{40};
constexpr std::size_t kFewestWaiting = 4;
constexpr std::size_t kMostWaiting = 32;
// A profile is usually built within a second; with many new names and busy CPUs, much later.
constexpr std::chrono::minutes kProfileTimeout{1};
// For all windows that are left at the end.
constexpr std::chrono::seconds kEndTimeout{4};
constexpr std::chrono::milliseconds kProfileCheck{100};
constexpr std::chrono::minutes kQuiet{1};

std::size_t WindowsThatWait(std::chrono::nanoseconds window) {
  const auto windows = static_cast<std::size_t>(std::max<std::int64_t>(kWaiting / window, 0));
  return std::clamp(windows, kFewestWaiting, kMostWaiting);
}

session::SessionSpec SpecOf(const HistoryRecorder::Options& options) {
  session::SessionSpec spec;
  spec.target.kind = session::TargetKind::kAll;
  spec.target.kernel_threads = true;
  spec.budget_cpus = options.budget * budget::BudgetUnits(std::thread::hardware_concurrency());
  spec.background = true;
  spec.observed = options.observed;
  spec.wakers = options.wakers && !options.observed;
  spec.on_cpu_period_ns = 1'000'000'000 / options.frequency_hz;
  spec.off_cpu_period_ns = session::NearestOffCpuPeriodNs(spec.on_cpu_period_ns);
  return spec;
}

}  // namespace

HistoryRecorder::HistoryRecorder(pipeline::LivePipeline& pipeline,
                                 std::unique_ptr<store::ProfileStore> store, const Clock& clock,
                                 spdlog::logger& logger, const Options& options)
    : pipeline_(pipeline),
      store_(std::move(store)),
      clock_(clock),
      options_(options),
      spec_(SpecOf(options)),
      logger_(logger),
      complaints_(logger),
      next_id_(kFirstId),
      ended_(WindowsThatWait(options.window)),
      writer_([this] { Write(); }),
      roller_([this](const std::stop_token& stop) { Roll(stop); }) {}

HistoryRecorder::~HistoryRecorder() { Stop(); }

void HistoryRecorder::BeginStop(steady_clock::time_point end) {
  end_ = end;
  store_->AbandonLongWork();
  roller_.request_stop();
}

bool HistoryRecorder::StopUntil(steady_clock::time_point until) {
  if (end_.load() == kNoEnd) BeginStop(steady_clock::now() + kEndTimeout);
  {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_until(lock, until, [this] { return running_threads_ == 0; })) return false;
  }
  if (roller_.joinable()) roller_.join();
  if (writer_.joinable()) writer_.join();
  return true;
}

void HistoryRecorder::NoteEnd() {
  const std::scoped_lock lock(mutex_);
  --running_threads_;
  wake_.notify_all();
}

HistoryStatus HistoryRecorder::Status() const {
  HistoryStatus status;
  status.store = store_->Status();
  status.window_ns = static_cast<std::uint64_t>(options_.window.count());
  status.observed = spec_.observed;
  status.windows_lost = lost_;
  if (const double worst = worst_closure_error_; worst != kNoWindow)
    status.worst_closure_error = worst;
  if (const double sum = sum_closure_error_; sum != kNoWindow) status.sum_closure_error = sum;
  if (!running_) return status;
  status.on_cpu_period_ns = spec_.on_cpu_period_ns;
  status.off_cpu_period_ns = spec_.off_cpu_period_ns;
  return status;
}

void HistoryRecorder::Roll(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "profd-history");
  const Heartbeat::Working working(rolling_);
  auto next = steady_clock::now();
  while (!stop.stop_requested()) {
    BeginWindow();
    // After a delay of a whole window, no short windows follow to catch up.
    next = std::max(next + options_.window, steady_clock::now() + options_.window / 2);
    std::unique_lock lock(mutex_);
    const Heartbeat::Waiting waiting(rolling_);
    wake_.wait_until(lock, stop, next, [] { return false; });
  }
  if (session_) {
    (void)session_->BeginEnd();
    pipeline_.End(session_);
    HandOver(std::exchange(session_, nullptr));
  }
  running_ = false;
  ended_.Close();
  NoteEnd();
}

void HistoryRecorder::BeginWindow() {
  const std::uint32_t id = next_id_;
  next_id_ = id + 1 == 0 ? kFirstId : id + 1;
  auto begun = session_ ? pipeline_.Roll(session_, id) : pipeline_.Start(id, spec_);
  if (!begun) {
    complaints_.Say("history: no new window: " + begun.error().message);
    // If the pipeline has failed the session, no window can continue it.
    if (session_ && session_->WaitFinished(std::chrono::nanoseconds(0)))
      HandOver(std::exchange(session_, nullptr));
    running_ = session_ != nullptr;
    return;
  }
  running_ = true;
  if (const SessionRef before = std::exchange(session_, *begun)) {
    (void)before->BeginEnd();
    HandOver(before);
  }
}

void HistoryRecorder::HandOver(const SessionRef& ended) {
  // The store is slow: what waits for it must not fill the memory.
  if (ended_.size() > 0) ended->GroupShortLived();
  if (ended_.TryPush(SessionRef(ended))) return;
  ended->Abandon();
  ++lost_;
  complaints_.Say("history: a window is lost: the store is too slow");
}

void HistoryRecorder::Write() {
  pthread_setname_np(pthread_self(), "profd-store");
  const Heartbeat::Working working(writing_);
  ReportLosses();
  while (auto session = Next()) {
    const auto kept = AwaitProfile(**session) ? Keep(*std::move(session)) : NotMade();
    if (!kept) complaints_.Say("history: a window is lost: " + kept.error().message);
    ReportLosses();
  }
  NoteEnd();
}

std::optional<HistoryRecorder::SessionRef> HistoryRecorder::Next() {
  const Heartbeat::Waiting waiting(writing_);
  return ended_.Pop();
}

void HistoryRecorder::ReportLosses() {
  const auto losses = store_->Status().losses;
  for (; losses_reported_ < losses.size(); ++losses_reported_)
    logger_.warn("history: {}", losses[losses_reported_]);
}

bool HistoryRecorder::AwaitProfile(const pipeline::Session& session) {
  const Heartbeat::Waiting waiting(writing_);
  const auto late = steady_clock::now() + kProfileTimeout;
  while (steady_clock::now() < std::min(late, end_.load()))
    if (session.WaitFinished(kProfileCheck)) return true;
  return false;
}

Result<void> HistoryRecorder::NotMade() {
  ++lost_;
  return Error{ErrorCode::kUnavailable, "its profile was not made in time", ""};
}

Result<void> HistoryRecorder::Keep(SessionRef session) {
  auto profile = session->result();
  if (!profile) {
    ++lost_;
    return profile.error();
  }
  // By the present time of day: it may have been set since profd started, or the host was
  // suspended.
  aggregate::Profile window = **profile;
  *profile = nullptr;
  session = nullptr;  // frees the session's copy while this one is stored
  worst_closure_error_ = aggregate::WorstClosureError(window);
  sum_closure_error_ = aggregate::SumClosureError(window);
  window.start_unix_ns = clock_.RealtimeNs() - (clock_.MonotonicNs() - window.start_ns);
  auto kept = store_->Put(window);
  window = {};
  ::malloc_trim(0);  // the next window comes much later
  return kept;
}

void HistoryRecorder::Complaints::Say(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  const auto now = steady_clock::now();
  if (now < quiet_until_) {
    ++unsaid_;
    return;
  }
  if (const auto unsaid = std::exchange(unsaid_, 0); unsaid != 0)
    logger_.warn("{} (and {} more like it in the last minute)", text, unsaid);
  else
    logger_.warn("{}", text);
  quiet_until_ = now + kQuiet;
}

}  // namespace profd::history
