// Backfill: adds descriptions of processes from /proc to the stream where the events do not
// suffice.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/keys.h"
#include "daemon/source/bpf/share_map.h"
#include "daemon/source/procfs/process_reader.h"
#include "daemon/wire/event_source.h"

namespace profd::source {

// Every event of the live source passes through here on its way to the sink. A process is `met`
// once the stream describes it: by PROCESS, by EXEC, or by the FORK of a process that was met.
// - An event of a process that was not met: a PROCESS is added before it. Its time stamp is not
// younger
//   than any later event of that process, so it also comes first in order of time.
// - EXEC: a PROCESS is added after it, with the time of the EXEC. Later mappings add to it.
// - MMAP of a process that was not met: it is held until the rings have been drained once more, and
//   then delivered if the process was met by then. Otherwise it is discarded, because most
//   processes of the host are in no session.
// Reading /proc takes about 50 us per process, so it is limited. A process that had to wait is
// read at one of its later events; one that was gone by then is counted. Processes of one round are
// read together: from the event that makes it necessary on, the events of a process are held until
// then, and keep their order.
//
// A process has a share of mappings and execs a second. What is beyond it is discarded, and the
// process is read once a second instead, at one of its samples. So are all processes when
// mappings have been lost, since nothing says whose they were, and those whose mappings could not
// be read. Used by the thread that polls, except where a method says otherwise.
class Backfill {
 public:
  static constexpr std::uint64_t kReadsPerSecond = 500;
  static constexpr std::uint64_t kReadBurst = 500;
  static constexpr std::size_t kMaxHeld = 8'192;     // MMAP events
  static constexpr std::size_t kMaxWaiting = 4'096;  // events that wait for a reading
  // Of one process: mappings and execs. A large program begins with some 2,000 mappings.
  static constexpr std::uint64_t kSharePerSecond = 200;
  static constexpr std::uint64_t kShareBurst = 4'000;
  static constexpr std::uint64_t kReadAgainNs = 1'000'000'000;
  // A program may say what it is some time after its begin, so one that lives on is read once more.
  static constexpr std::uint64_t kSettledNs = 15'000'000'000;
  // Of kReadsPerSecond, at most so many are of processes that were read before.
  static constexpr std::uint64_t kReadsAgainPerSecond = 100;

  // `clock` must outlive this.
  Backfill(ProcessReader reader, const Clock& clock);

  // These bracket a round, in which every ring is drained of at least what it held at the
  // beginning.
  void BeginRound();
  // Mappings have been lost, of processes that nothing names.
  void LostMappings();
  void Pass(const wire::RawEvent& event, const wire::EventSource::Sink& sink);
  // Whether a mapping of this process would be discarded, and need not be passed. True counts it.
  [[nodiscard]] bool IsBeyondShare(std::uint32_t pid);
  void EndRound(const wire::EventSource::Sink& sink);

  [[nodiscard]] std::uint64_t gone() const { return gone_; }        // ended before they were read
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  // MMAP events beyond kMaxHeld
  [[nodiscard]] std::uint64_t beyond_share() const { return beyond_share_; }  // events
  // Processes that were beyond their share in the last kKeptBeyondNs; at most kMaxKeptBeyond. Any
  // thread.
  [[nodiscard]] std::vector<BeyondShare> ProcessesBeyondShare() const;
  static constexpr std::uint64_t kKeptBeyondNs = 120'000'000'000;
  static constexpr std::size_t kMaxKeptBeyond = 64;

 private:
  struct Process {
    std::uint64_t start_ns = 0;
    bool unread = false;         // had to wait for ration
    std::uint64_t since_ns = 0;  // if unread: what /proc says holds from here on
    bool again = false;          // if unread: it was read before, at `read_ns`
    std::uint64_t read_ns = 0;
    std::uint64_t share_ns = 0;  // its share is used up to here; may lie in the future
    std::uint64_t begun_ns = 0;  // its program
    bool settled = false;        // it was read later than kSettledNs
  };

  [[nodiscard]] bool Met(ProcessKey process) const;
  [[nodiscard]] bool TakeRation(bool again);
  void PassSample(const wire::RawEvent& event, const profd_event& header,
                  const wire::EventSource::Sink& sink);
  void PassFork(const wire::RawEvent& event, const profd_event& header,
                const wire::EventSource::Sink& sink);
  void PassMmap(const wire::RawEvent& event, const profd_event& header,
                const wire::EventSource::Sink& sink);
  // False: this event is beyond the process's share.
  [[nodiscard]] bool TakeShare(std::uint32_t pid, Process& process);
  [[nodiscard]] bool HasShare(const Process& process) const;
  void ReadAgain(Process& process, std::uint64_t since_ns) const;
  // True: the event is held, because its process is going to be read, or because it is the fork of
  // such a process.
  [[nodiscard]] bool Hold(const wire::RawEvent& event, const profd_event& header);
  void PassOne(const wire::RawEvent& event, const profd_event& header,
               const wire::EventSource::Sink& sink);
  // Reads the processes that are going to be read, and passes on what was held for them.
  void ReadWanted(const wire::EventSource::Sink& sink);
  void NameBeyondShare(std::uint32_t pid);
  void ForgetBeyondShare();
  // It is read at the end of the round, or earlier.
  void Want(const profd_event& header, std::uint64_t time_ns);

  ProcessReader reader_;
  const Clock& clock_;
  std::unordered_map<std::uint32_t, Process> met_;  // by pid, the youngest process of each
  std::vector<ProcessReader::Wanted> wanted_;       // to be read
  std::unordered_set<std::uint32_t> waiting_;       // pids of these, and of their new children
  std::vector<wire::EventBytes> waiting_events_;    // of all of these
  std::vector<wire::EventBytes> held_;              // MMAP events of this round ...
  std::vector<wire::EventBytes> held_before_;       // ... and of the one before
  std::vector<ProcessKey> ended_;                   // processes that ended in this round ...
  std::vector<ProcessKey> ended_before_;            // ... and in the one before
  std::uint32_t sessions_ = 0;                      // running, as the stream has it
  std::uint64_t round_ns_ = 0;                      // begin of this round
  std::uint64_t settled_ns_ = 0;  // begin of the one before: older events were delivered
  std::uint64_t ration_ns_ = 0;   // accrued time; a read costs 1 s / kReadsPerSecond
  std::uint64_t again_ns_ = 0;    // the same for reads again
  std::uint64_t gone_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t beyond_share_ = 0;
  mutable std::mutex mutex_;                              // guards what follows
  std::unordered_map<std::uint32_t, BeyondShare> named_;  // by pid
};

}  // namespace profd::source
