#include "daemon/replay/replay_backend.h"

#include <utility>

#include "daemon/replay/replay_run.h"

namespace profd::replay {

Result<std::unique_ptr<ReplayBackend>> ReplayBackend::Open(const std::string& path,
                                                           const Clock& clock,
                                                           spdlog::logger& logger) {
  const auto reader = recording::RecordingReader::Open(path);
  if (!reader) return reader.error();
  if (!(*reader)->cut().empty()) logger.warn("{}: {}", path, (*reader)->cut());
  return std::unique_ptr<ReplayBackend>(new ReplayBackend(path, (*reader)->info(), clock));
}

ReplayBackend::~ReplayBackend() {
  const std::scoped_lock lock(mutex_);
  for (auto& [id, run] : runs_) run.request_stop();
  runs_.clear();
}

Result<std::shared_ptr<pipeline::Session>> ReplayBackend::Start(
    std::uint32_t id, const session::SessionSpec& requested) {
  auto run = ReplayRun::Open(path_);
  if (!run) return run.error();
  pipeline::SessionStart start;
  start.start_ns = clock_.MonotonicNs();
  start.start_unix_ns = (*run)->start_unix_ns();
  auto session = std::make_shared<pipeline::Session>(id, requested, std::move(start), clock_);
  const std::scoped_lock lock(mutex_);
  runs_.emplace(id, [run = std::shared_ptr<ReplayRun>(std::move(*run)),
                     session](const std::stop_token& stop) { run->Run(session, stop); });
  return session;
}

void ReplayBackend::End(const std::shared_ptr<pipeline::Session>& session) {
  std::jthread run;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = runs_.find(session->id());
    if (found == runs_.end()) return;
    run = std::move(found->second);
    runs_.erase(found);
  }
  run.request_stop();
}

pipeline::BackendStatus ReplayBackend::Status() const {
  pipeline::BackendStatus status;
  status.source.levels.kernel_release = info_.kernel_release;
  status.source.levels.hook = info_.hook;
  status.replay_file = path_;
  return status;
}

}  // namespace profd::replay
