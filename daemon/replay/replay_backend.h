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

// Each session runs the pipeline of its own over the whole file, on a thread of its own: one stage
// after the other, so that the same file gives the same profile byte for byte. It begins at the
// first session start in the recording and ends at the last session end. Its target and its
// periods are applied to what was recorded: nothing finer, and no other threads, can be had.
// Owned by the composition root; methods from any thread.
class ReplayBackend : public pipeline::SessionBackend, public pipeline::StatusSource {
 public:
  // Reads the file once to find out what it is. `clock` and `logger` must outlive this.
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
