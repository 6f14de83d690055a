// ReplayRun: one pass of the pipeline over a recording, for one session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "daemon/base/result.h"
#include "daemon/pipeline/session.h"
#include "daemon/recording/replay_source.h"
#include "daemon/wire/event.h"

namespace profd::replay {

// Used by one thread. Deterministic: no clock, no file but the recording, no other thread.
class ReplayRun {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ReplayRun>> Open(const std::string& path);

  [[nodiscard]] std::uint64_t start_unix_ns() const;
  // Finishes the session, with its profile or with an error. When stopped early the profile ends
  // where the recording had got to.
  void Run(const std::shared_ptr<pipeline::Session>& session, const std::stop_token& stop);

 private:
  // What the recording was made with, found by a first pass over its session events.
  struct Extent {
    std::optional<wire::SessionEvent> start;  // the first
    std::optional<wire::SessionEvent> end;    // the last
    std::uint64_t on_cpu_period_ns = 0;       // finest of all
    std::uint64_t off_cpu_period_ns = 0;
  };

  ReplayRun(std::string path, Extent extent, std::unique_ptr<recording::ReplaySource> source)
      : path_(std::move(path)), extent_(std::move(extent)), source_(std::move(source)) {}
  [[nodiscard]] static Result<Extent> Scan(recording::ReplaySource& source);
  // What this session's own start or end says, in place of the recorded one.
  [[nodiscard]] wire::SessionEvent Boundary(const wire::SessionEvent& recorded,
                                            const session::SessionSpec& requested) const;

  const std::string path_;
  const Extent extent_;
  const std::unique_ptr<recording::ReplaySource> source_;
};

}  // namespace profd::replay
