#include "daemon/server/session_manager.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace profd::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// How often the watcher checks running sessions. Two checks in a row must find that a target is
// gone: at the start of a session, the end of one thread can come before the first reading of
// another.
constexpr milliseconds kCheckInterval{50};

bool EndsWithItsThreads(const session::Target& target) {
  return target.kind == session::TargetKind::kPids || target.kind == session::TargetKind::kTids;
}

Error NoSession(std::uint32_t id) {
  return Error{ErrorCode::kNotFound, "no session " + std::to_string(id),
               "`profctl status` lists the sessions that run"};
}

}  // namespace

SessionManager::SessionManager(pipeline::SessionBackend& backend, const Clock& clock,
                               const Options& options)
    : backend_(backend),
      clock_(clock),
      options_(options),
      watcher_([this](const std::stop_token& stop) { Watch(stop); }) {}

SessionManager::~SessionManager() { Shutdown(nanoseconds{0}); }

Result<std::uint32_t> SessionManager::Admit(const std::string& client, std::size_t max_sessions) {
  if (closed_) return Error{ErrorCode::kUnavailable, "profd is shutting down", ""};
  // Sessions that are starting count, too. Otherwise many calls at once would pass the limit.
  std::size_t all = entries_.size();
  for (const auto& [who, count] : starting_) all += count;
  if (all >= options_.max_sessions)
    return Error{ErrorCode::kExhausted,
                 "all " + std::to_string(options_.max_sessions) + " sessions are in use",
                 "wait for one to end; `profctl status` lists them"};
  const auto starting = starting_.find(client);
  std::size_t own = starting == starting_.end() ? 0 : starting->second;
  for (const auto& [id, entry] : entries_) own += entry.client == client ? 1 : 0;
  if (own >= max_sessions)
    return Error{ErrorCode::kExhausted,
                 "your " + std::to_string(max_sessions) + " sessions are all in use",
                 "wait for one to end; `profctl status` lists them"};
  ++starting_[client];
  return next_id_++;
}

Result<std::shared_ptr<pipeline::Session>> SessionManager::Start(const session::SessionSpec& spec,
                                                                 std::uint64_t duration_ns,
                                                                 const std::string& client,
                                                                 std::size_t max_sessions) {
  std::uint32_t id = 0;
  {
    const std::scoped_lock lock(mutex_);
    const auto admitted = Admit(client, max_sessions);
    if (!admitted) return admitted.error();
    id = *admitted;
  }
  // Without the lock: a start takes some ms, and the watcher must end other sessions meanwhile.
  auto started = backend_.Start(id, spec);

  std::unique_lock lock(mutex_);
  if (--starting_[client] == 0) starting_.erase(client);
  if (!started) return started.error();
  Entry entry;
  entry.session = *started;
  entry.client = client;
  entry.duration_ns = backend_.EndsByItself() ? 0 : duration_ns;
  if (entry.duration_ns != 0) entry.deadline_ns = (*started)->begin_ns() + entry.duration_ns;
  entries_.emplace(id, std::move(entry));
  changed_.notify_all();
  const bool closed = closed_;
  lock.unlock();
  if (closed) End(*started);  // Shutdown came during the start, and did not see this session
  return started;
}

Result<std::string> SessionManager::SessionClient(std::uint32_t id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return NoSession(id);
  return found->second.client;
}

Result<void> SessionManager::Stop(std::uint32_t id) {
  std::shared_ptr<pipeline::Session> session;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return NoSession(id);
    session = found->second.session;
  }
  End(session);
  return {};
}

void SessionManager::Release(const std::shared_ptr<pipeline::Session>& session) {
  session->Abandon();
  End(session);
  const std::scoped_lock lock(mutex_);
  entries_.erase(session->id());
}

void SessionManager::End(const std::shared_ptr<pipeline::Session>& session) {
  if (session->BeginEnd()) backend_.End(session);
}

void SessionManager::Shutdown(nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto left = [&] {
    return std::max(nanoseconds{0}, nanoseconds(deadline - std::chrono::steady_clock::now()));
  };
  std::vector<std::shared_ptr<pipeline::Session>> running;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    for (const auto& [id, entry] : entries_) running.push_back(entry.session);
  }
  // Each end reads the clocks of all members, and repeats that while some cannot be read. So all of
  // them together may need more time than there is.
  for (const auto& session : running)
    if (left() > nanoseconds{0}) End(session);
  for (const auto& session : running) (void)session->WaitFinished(left());
}

std::vector<SessionSummary> SessionManager::List() const {
  const std::scoped_lock lock(mutex_);
  std::vector<SessionSummary> list;
  list.reserve(entries_.size());
  for (const auto& [id, entry] : entries_)
    list.push_back({id, session::FormatTarget(entry.session->spec().target), entry.client,
                    entry.duration_ns, entry.session->Progress()});
  return list;
}

std::vector<std::shared_ptr<pipeline::Session>> SessionManager::Overdue(std::uint64_t now_ns) {
  std::vector<std::shared_ptr<pipeline::Session>> overdue;
  for (auto& [id, entry] : entries_) {
    const auto& session = entry.session;
    const bool gone = EndsWithItsThreads(session->spec().target) && session->Progress().target_gone;
    const bool over = entry.deadline_ns != 0 && now_ns >= entry.deadline_ns;
    if (over || (gone && entry.gone_before)) overdue.push_back(session);
    entry.gone_before = gone;
  }
  return overdue;
}

void SessionManager::Watch(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-sessions");
  const Heartbeat::Working working(beat_);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const std::uint64_t now_ns = clock_.MonotonicNs();
    if (const auto overdue = Overdue(now_ns); !overdue.empty()) {
      lock.unlock();
      for (const auto& session : overdue) End(session);
      lock.lock();
    }
    if (entries_.empty()) {
      const Heartbeat::Waiting waiting(beat_);
      changed_.wait(lock, stop, [this] { return !entries_.empty(); });
      continue;
    }
    std::uint64_t next_ns =
        now_ns + static_cast<std::uint64_t>(nanoseconds(kCheckInterval).count());
    for (const auto& [id, entry] : entries_)
      if (entry.deadline_ns > now_ns) next_ns = std::min(next_ns, entry.deadline_ns);
    beat_.Beat();
    changed_.wait_for(lock, stop, nanoseconds(next_ns - now_ns), [] { return false; });
  }
}

}  // namespace profd::server
