// StepProbes: in which processes the places are watched at which steps begin, for which session.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/reader/zygote.h"
#include "daemon/session/session_control.h"
#include "daemon/source/steps/step_place.h"
#include "daemon/wire/event_bytes.h"
#include "daemon/wire/event_source.h"

namespace profd::source {

// Job: has the program `on_step` attached to functions of the members of sessions that want it:
// those that are there at the start, and processes that begin later, or map the file later. A
// member that is made by a fork has what its parent has. What cannot be watched is said by an event
// with the reason. Threads: Start, Announce and Stop are called with the lock of sessions held,
// Note by the thread that polls; a thread of its own finds places and has them attached, as both
// may take long. Owner: Sessions.
class StepProbes {
 public:
  struct Tools {
    // Makes the process that attaches for one session: a StepAttacher.
    std::function<Result<reader::ReaderProcess>()> make_attacher;
    FindStepPlaces find;
  };
  // All outlive this. `program_fd`: of on_step.
  struct Parts {
    int program_fd;
    std::function<void(std::vector<wire::EventBytes>)> put;  // as PendingEvents::PutAfter
    const Clock& clock;
  };
  static constexpr std::size_t kMaxPlaces = 128;  // of one session, in all its processes

  explicit StepProbes(Parts parts) : parts_(std::move(parts)) {}
  ~StepProbes();
  StepProbes(const StepProbes&) = delete;
  StepProbes& operator=(const StepProbes&) = delete;

  // Before the first session.
  void UseTools(Tools tools) { tools_ = std::move(tools); }

  // kPermissionDenied: the user has named a function, and the session sees one user's processes
  // only. README.md says why.
  [[nodiscard]] static Result<void> CheckSpec(const session::SessionSpec& spec);

  // `processes`: PROCESS events of the session's members. An error where what the user has named
  // cannot be watched; a session that takes children waits for those that may have it. What
  // PyTorch says is watched where it is there.
  [[nodiscard]] Result<void> Start(std::uint32_t session, const session::SessionSpec& spec,
                                   std::span<const wire::EventBytes> processes);
  // The session has begun: from now on its events say what is watched.
  void Announce(std::uint32_t session);
  void Stop(std::uint32_t session);

  // Any event of the source.
  void Note(const wire::RawEvent& event) {
    if (active_.load(std::memory_order_relaxed) != 0) NoteEvent(event);
  }
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  // What a session watches, and where. With mutex_ held, but for what is the worker's.
  struct Watch {
    std::uint32_t session = 0;
    std::vector<session::StepSpec> specs;
    std::vector<wire::EventBytes> said;  // before the session was announced
    bool announced = false;
    bool stopped = false;
    std::vector<std::size_t> jobs;      // by spec: under way
    std::vector<std::size_t> attached;  // by spec
    std::vector<Error> errors;          // by spec: the last
    std::set<std::uint32_t> members;    // pids
    std::multimap<std::uint32_t, std::pair<ExecutableFile, std::size_t>> files;  // by pid: attached
    std::set<std::tuple<std::uint32_t, std::uint64_t, std::size_t>> known;       // pid, inode, spec
    // The worker's.
    std::unique_ptr<reader::ReaderProcess> attacher;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::size_t>,
             std::vector<StepPlace>>
        places;  // device, inode, spec
    std::size_t places_attached = 0;
  };
  using WatchRef = std::shared_ptr<Watch>;
  struct Job {
    WatchRef watch;
    ExecutableFile file;
    std::size_t spec = 0;
  };

  void NoteEvent(const wire::RawEvent& event);
  // With mutex_ held.
  void AddFile(const WatchRef& watch, const ExecutableFile& file);
  void AddJob(const WatchRef& watch, const ExecutableFile& file, std::size_t spec);
  void Say(Watch& watch, std::size_t spec, std::uint16_t flags, const std::string& refused);
  [[nodiscard]] Result<void> Await(std::unique_lock<std::mutex>& lock, Watch& watch,
                                   const session::SessionSpec& spec);

  // The worker.
  void Work(const std::stop_token& stop);
  [[nodiscard]] Result<std::vector<StepPlace>> PlacesOf(const Job& job);
  [[nodiscard]] Result<void> Attach(const Job& job, const std::vector<StepPlace>& places);
  [[nodiscard]] Result<void> AttachOne(Watch& watch, const std::string& request);
  [[nodiscard]] Result<void> NeedAttacher(Watch& watch);
  void KillAttacher(Watch& watch);

  const Parts parts_;
  Tools tools_;
  Heartbeat beat_{"step probes", Heartbeat::NeededFor::kExtras};
  std::atomic<std::size_t> active_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::uint32_t, WatchRef> watches_;  // by session
  std::deque<Job> jobs_;
  struct Killed {
    reader::ReaderProcess attacher;
    std::chrono::steady_clock::time_point since;
  };
  std::list<Killed> killed_;  // the worker's: that have not ended yet
  std::jthread worker_;       // last; begins with the first session
};

}  // namespace profd::source
