// ReplayBackend: sessions on a recording, with no kernel and no root.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/status.h"
#include "daemon/recording/recording_reader.h"

namespace profd::replay {

// Job: runs each session as a ReplayRun over the whole recording, on a thread of its own. A session
// starts at the first session start in the recording and ends at the last session end, or earlier
// if its spec limits the recorded time. Its target and its periods select from what was recorded:
// it cannot have a finer period, or threads that were not recorded.
// Thread: all methods may be called from any thread. Owner: the composition root.
class ReplayBackend : public pipeline::SessionBackend, public pipeline::StatusSource {
 public:
  // Reads the file once to check it. `clock` and `logger` must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<ReplayBackend>> Open(const std::string& path,
                                                                   const Clock& clock,
                                                                   spdlog::logger& logger);
  ~ReplayBackend() override;

  [[nodiscard]] Result<std::shared_ptr<pipeline::Session>> Start(
      std::uint32_t id, const session::SessionSpec& requested) override;
  void End(const std::shared_ptr<pipeline::Session>& session) override;
  [[nodiscard]] bool EndsByItself() const override { return true; }
  [[nodiscard]] pipeline::BackendStatus Status() const override;

 private:
  ReplayBackend(std::string path, recording::RecordingInfo info, const Clock& clock)
      : path_(std::move(path)), info_(std::move(info)), clock_(clock) {}

  const std::string path_;
  const recording::RecordingInfo info_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::jthread> runs_;  // by session id
};

}  // namespace profd::replay
