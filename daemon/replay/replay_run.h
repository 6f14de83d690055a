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

// Job: runs all stages over the recording, one after the other, and finishes the session. The same
// recording gives the same profile: it uses no clock, no other file and no other thread.
// Thread: one. Owner: ReplayBackend.
class ReplayRun {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ReplayRun>> Open(const std::string& path);

  [[nodiscard]] std::uint64_t start_unix_ns() const;
  // Finishes the session, with its profile or with an error. If it is stopped early, the profile
  // ends with the last event that was read. If the spec limits the recorded time, threads that live
  // at its end have no clock: a recording has readings only where its own sessions start and end.
  void Run(const std::shared_ptr<pipeline::Session>& session, const std::stop_token& stop);

 private:
  // The sessions that were recorded, found by a first pass over the recording.
  struct Extent {
    std::optional<wire::SessionEvent> start;  // the first
    std::optional<wire::SessionEvent> end;    // the last
    std::uint64_t on_cpu_period_ns = 0;       // finest of all
    std::uint64_t off_cpu_period_ns = 0;
    bool wakers = false;         // of some: who ends waits was captured
    bool switches = false;       // of some: they were recorded
    std::uint32_t counters = 0;  // of some: PROFD_SESSION_COUNTED, and what it says of counters
  };

  ReplayRun(std::string path, Extent extent, std::unique_ptr<recording::ReplaySource> source)
      : path_(std::move(path)), extent_(std::move(extent)), source_(std::move(source)) {}
  [[nodiscard]] static Result<Extent> Scan(recording::ReplaySource& source);
  // The start or end event of this session, made from a recorded one.
  [[nodiscard]] wire::SessionEvent Boundary(const wire::SessionEvent& recorded,
                                            const session::SessionSpec& requested) const;
  // Whether the session says on whom its threads wait.
  [[nodiscard]] bool HasWakers(const session::SessionSpec& requested) const {
    return extent_.wakers && requested.wakers && requested.off_cpu;
  }
  // Where the requested time ends; the recording may end before.
  [[nodiscard]] std::uint64_t LimitNs(const session::SessionSpec& requested) const;
  // The end of a session whose recorded end does not count: `newest_ns` is the last event's time.
  [[nodiscard]] wire::SessionEvent EarlyEnd(const session::SessionSpec& requested,
                                            std::uint64_t newest_ns) const;

  const std::string path_;
  const Extent extent_;
  const std::unique_ptr<recording::ReplaySource> source_;
};

}  // namespace profd::replay
