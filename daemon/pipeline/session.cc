#include "daemon/pipeline/session.h"

#include <utility>

namespace profd::pipeline {

Session::Session(std::uint32_t id, session::SessionSpec spec, SessionStart start,
                 const Clock& clock)
    : id_(id),
      spec_(std::move(spec)),
      start_(std::move(start)),
      clock_(clock),
      begin_ns_(start_.start_ns) {
  threads_ = start_.threads;
}

void Session::Report(std::uint64_t samples, std::uint64_t lost, std::uint32_t threads) {
  samples_.store(samples, std::memory_order_relaxed);
  lost_.store(lost, std::memory_order_relaxed);
  threads_.store(threads, std::memory_order_relaxed);
}

void Session::Finish(Result<aggregate::ProfileRef> result) {
  const std::scoped_lock lock(mutex_);
  if (result_) return;
  result_.emplace(std::move(result));
  finished_.notify_all();
}

void Session::FinishDump(aggregate::DumpRef dump) {
  const std::scoped_lock lock(mutex_);
  if (result_) return;
  dump_ = std::move(dump);
  result_.emplace(aggregate::ProfileRef());
  finished_.notify_all();
}

bool Session::BeginEnd() {
  std::uint64_t not_yet = 0;
  const std::uint64_t now_ns = clock_.MonotonicNs();
  return ended_ns_.compare_exchange_strong(not_yet, now_ns == 0 ? 1 : now_ns);
}

SessionProgress Session::Progress() const {
  SessionProgress progress;
  const std::uint64_t ended_ns = ended_ns_.load();
  const std::uint64_t until_ns = ended_ns != 0 ? ended_ns : clock_.MonotonicNs();
  const std::uint64_t begin_ns = begin_ns_;
  progress.elapsed_ns = until_ns > begin_ns ? until_ns - begin_ns : 0;
  progress.samples = samples_.load(std::memory_order_relaxed);
  progress.lost = lost_.load(std::memory_order_relaxed);
  progress.threads = threads_.load(std::memory_order_relaxed);
  progress.finishing = ended_ns != 0;
  progress.target_gone = target_gone_.load(std::memory_order_relaxed);
  return progress;
}

bool Session::WaitFinished(std::chrono::nanoseconds timeout) const {
  std::unique_lock lock(mutex_);
  return finished_.wait_for(lock, timeout, [this] { return result_.has_value(); });
}

Result<aggregate::ProfileRef> Session::result() const {
  const std::scoped_lock lock(mutex_);
  if (!result_) return Error{ErrorCode::kInternal, "the session has not finished", ""};
  return *result_;
}

Result<aggregate::DumpRef> Session::dump() const {
  const std::scoped_lock lock(mutex_);
  if (!result_) return Error{ErrorCode::kInternal, "the session has not finished", ""};
  if (!*result_) return result_->error();
  return dump_;
}

}  // namespace profd::pipeline
