#include "daemon/pipeline/session.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "daemon/process/process_info.h"

namespace profd::pipeline {
namespace {

constexpr std::size_t kMaxProcesses = 64;

// The process of a thread; 0: /proc does not show it.
std::uint32_t ProcessOf(std::uint32_t tid, const ProcFs& proc) {
  const auto status = proc.Read(std::to_string(tid) + "/status", 65'536);
  if (!status) return 0;
  const auto line = status->find("\nTgid:\t");
  if (line == std::string::npos) return 0;
  std::uint32_t pid = 0;
  std::from_chars(status->data() + line + 7, status->data() + status->size(), pid);
  return pid;
}

}  // namespace

std::uint32_t OwnPidNamespace(const ProcFs& proc) {
  const auto link = proc.ReadLink("self/ns/pid");  // "pid:[4026531836]"
  if (!link) return 0;
  const auto open = link->find('[');
  std::uint32_t inode = 0;
  if (open != std::string::npos)
    std::from_chars(link->data() + open + 1, link->data() + link->size(), inode);
  return inode;
}

SessionStart DescribeTarget(const session::Target& target, const ProcFs& proc,
                            const ReadCommandLine& command_line) {
  SessionStart start;
  const bool pids = target.kind == session::TargetKind::kPids;
  if ((!pids && target.kind != session::TargetKind::kTids) || target.pidns_inode != 0) return start;
  for (const auto id : target.ids) {
    const std::uint32_t pid = pids ? id : ProcessOf(id, proc);
    if (pid == 0) continue;
    const std::string folder = std::to_string(pid);
    if (pids) {
      const auto threads = proc.ListNumbers(folder + "/task");
      start.threads += threads ? static_cast<std::uint32_t>(threads->size()) : 0;
    } else {
      ++start.threads;
    }
    const auto& known = start.processes;
    const bool again = std::any_of(known.begin(), known.end(),
                                   [pid](const auto& process) { return process.key.pid == pid; });
    if (again || known.size() >= kMaxProcesses) continue;
    const auto comm = proc.Read(folder + "/comm", 4096);
    if (!comm) continue;
    aggregate::ProfileProcess process;
    process.key.pid = process.shown_pid = pid;
    process.comm = process::ParseComm(*comm);
    if (command_line) process.command_line = process::ParseCommandLine(command_line(pid));
    start.processes.push_back(std::move(process));
  }
  return start;
}

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
