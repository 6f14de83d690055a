// PythonService: finds the interpreters of processes, for the BPF side and for the stream.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bpf/shared/python_layout.h"
#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/budget/share/shares.h"
#include "daemon/python/feed/fact_queue.h"
#include "daemon/python/feed/python_processes.h"
#include "daemon/python/feed/python_remote.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/wire/event_source.h"

namespace profd::python {

// Processes with an interpreter, now. Reasons say why.
struct PythonStatus {
  std::uint64_t attached = 0;                    // understood
  std::map<std::string, std::uint64_t> waiting;  // not yet
  std::map<std::string, std::uint64_t> refused;  // never
};

// Written by the service's thread, `dropped` also by the callers of See; any thread may read.
struct PythonCounters {
  Counter attached;  // processes whose interpreter is understood
  Counter refused;   // processes whose interpreter is not, for a reason
  Counter waiting;   // now: with an interpreter that does not run Python code yet
  Counter dropped;   // processes and mappings that found no room in the queue
};

// Has a thread of its own, at low priority; no other thread waits for it, but for Await. It reads
// nothing of a process itself: readers do, and for one that is slow it waits once, kPatience long.
// Owned by the composition root.
//
//   PROCESS, EXEC, MMAP, FORK -> files of executable mappings -> interpreter? -> Attach
//     -> no answer: asked for again, as often as what waits below
//     -> attached: facts for the BPF side and the stream
//     -> not yet: Attach again, every 20 ms for a second, then less and less often, at last every
//        5 s; of a process that has run for seconds less and less often from the first try. After
//        that second the reason goes to the stream, unless the interpreter is not used
//     -> refused: the reason goes to the stream
//   a sample that met memory that was away -> the service reads what the threads of the process
//     run, so that the memory comes back
//
// A user whose processes are searched too often has a part of them searched later, and those are
// few: programs that are executed without end hold up no other user.
//
// The service attaches to each runtime of a process separately, and the runtime keeps its number.
// For runtimes that are refused, or beyond PROFD_MAX_PYTHON_RUNTIMES, the reason goes to the
// stream.
class PythonService {
 public:
  static constexpr std::chrono::milliseconds kPatience{50};
  // Searches of all processes of a user, and attempts to attach to them; one without an answer in
  // time counts as kLateCost. A host begins with as many as it has processes.
  static constexpr budget::Shares::Rate kSearchesOfUser{500, 32'768};
  static constexpr std::uint64_t kLateCost = 100;
  // Processes of one user, other than root, in the map of the BPF side: others have room there.
  static constexpr std::size_t kMaxOfUser = PROFD_MAX_PYTHON_PROCESSES / 2;

  // All must outlive this. The readers are PythonParsers; `searches` is of kSearchesOfUser.
  PythonService(PythonProcesses& processes, FactQueue& facts, reader::Readers& readers,
                budget::Shares& searches, ProcFs proc, reader::FindUser user_of = reader::UserOf);
  PythonService(const PythonService&) = delete;
  PythonService& operator=(const PythonService&) = delete;
  ~PythonService() = default;

  // Called for every event of the live source by the thread that polls; returns at once.
  void See(const wire::RawEvent& event);
  // The same for a process that a session is about to start with; any thread.
  void Look(ProcessKey process);
  // Until all that was requested so far was looked at once; false: it took longer.
  bool Await(std::chrono::milliseconds timeout);

  [[nodiscard]] const PythonCounters& counters() const { return counters_; }
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  // As of the last time that there was nothing to do; any thread.
  [[nodiscard]] PythonStatus status() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMaxSeen = 65'536;
  static constexpr std::size_t kMaxSearches = 4'096;
  static constexpr std::size_t kMaxPutOff = 1'024;  // of these, beyond the share of a user

  struct Task {
    enum Kind { kProcess, kExec, kFork, kMapping, kExit, kFault } kind = kProcess;
    ProcessKey process;  // of MMAP the start is 0: not known
    ProcessKey parent;   // kFork
    ModuleMapping mapping;
  };
  // For interpreters, that no reader has answered yet.
  struct Search {
    ProcessKey key;
    std::uint32_t number = 0;
    std::vector<ModuleMapping> mappings;  // empty: all that it has
    bool again = false;  // all of them, when this is answered: they have changed since
    bool settled = false;
    Time next{};
    std::chrono::milliseconds delay{};
  };
  using Attachments = std::vector<std::shared_ptr<const Attachment>>;
  struct Process {
    ProcessKey key;
    std::uint32_t number = 0;             // of requests for it
    std::optional<std::uint32_t> user{};  // once it is needed
    bool installed = false;               // the BPF side knows it
    std::vector<Candidate> candidates;
    Attachments attached;   // by runtime
    bool outdated = false;  // `attached` is from before: since then no reader has answered
    bool refused = false;
    bool waits = false;    // to be attached, or for certainty
    std::string reason;    // why it is refused, or not attached yet
    std::string reported;  // of the reasons for waiting: the last one that the stream heard
    std::string another;   // not empty: it has one more interpreter, which is not walked, and why
    Time next{};
    std::chrono::milliseconds delay{};
    int tries = 0;
    bool settled = false;  // it has run for a while: what it has changes rarely
    Time looked{};
    Time touched{};
  };

  void Push(Task task);
  void Run(const std::stop_token& stop);
  [[nodiscard]] std::optional<Task> NextTask(const std::stop_token& stop);
  void Handle(const Task& task);
  void HandleProcess(ProcessKey key, bool settled);
  void HandleFork(ProcessKey child, ProcessKey parent);
  void HandleFault(ProcessKey key);
  void HandleMapping(const Task& task);
  [[nodiscard]] std::vector<ModuleMapping> TakeMappings(std::uint32_t pid);
  void Find(Search search);
  void FindLater(Search search, std::size_t room);
  void TakeAll(const Search& search, std::vector<Candidate> candidates);
  void TakeMore(ProcessKey key, std::vector<Candidate> candidates);
  void Forget(std::uint32_t pid);
  void Retry(Time now);
  void Sweep();
  void TryAttach(Process& process);
  void DropOutdated(Process& process, bool nothing_new);
  void Accept(Process& process, const Attachment& attachment);
  [[nodiscard]] std::uint32_t UserIn(Process& process);
  [[nodiscard]] bool Install(Process& process);
  void Uninstall(Process& process);
  void NoteAnother(Process& process, const std::string& what);
  void Report(const Process& process);
  void Rest();
  void Refuse(Process& process, const Candidate& candidate);
  void WaitFor(Process& process);
  void ReportWhyItWaits(Process& process);
  void TakeStock();
  [[nodiscard]] bool IsThere(ProcessKey key) const;

  PythonProcesses& known_;
  FactQueue& facts_;
  const ProcFs proc_;
  PythonClient readers_;
  budget::Shares& shares_;
  const reader::FindUser user_of_;
  PythonCounters counters_;
  Heartbeat beat_{"Python"};
  std::uint32_t numbers_ = 0;
  std::unordered_map<std::uint32_t, Process> processes_;      // with interpreters, by pid
  std::unordered_map<std::uint32_t, Search> searches_;        // not answered yet, by pid
  std::unordered_map<std::uint32_t, std::size_t> installed_;  // processes, by user
  LruCache<std::uint32_t, ProcessKey> seen_{kMaxSeen};  // without, so that mappings find theirs

  mutable std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<Task> tasks_;
  bool busy_ = false;  // with what was in tasks_
  PythonStatus status_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::python
