// ProcessTable: which processes there are, what they are called and what they have mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "daemon/base/counter.h"
#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/process/address_space.h"
#include "daemon/process/module_table.h"
#include "daemon/process/process_info.h"
#include "daemon/process/thread_names.h"
#include "daemon/wire/event.h"

namespace profd::process {

struct ProcessLimits {
  std::size_t processes = 32'768;
  std::size_t threads = 262'144;
  std::size_t modules = 65'536;
  std::size_t mappings_per_process = 65'536;
  std::size_t mappings = 1'000'000;                   // of all processes; about 120 bytes each
  std::uint64_t grace_after_exit_ns = 5'000'000'000;  // samples come late
};

// What the bounds cost, and what did not make sense.
struct ProcessCounters {
  std::uint64_t processes = 0;         // known now, dead ones in their grace time included
  std::uint64_t evicted_alive = 0;     // forgotten, to make room, while they lived
  std::uint64_t evicted_early = 0;     // forgotten, to make room, within their grace time
  std::uint64_t mappings_refused = 0;  // beyond a bound
  std::uint64_t modules_refused = 0;   // beyond a bound: these mappings show nothing
  std::uint64_t mmaps_unplaced = 0;    // of a process that is not known
  std::uint64_t maps_malformed = 0;    // lines of /proc/PID/maps
  std::uint64_t threads_forgotten = 0;
};

// Takes events in order of time; what comes late does not overwrite what is newer. Processes are
// kept for a grace time after their exit, because their last samples come late, and so are names of
// threads. When there are too many, the dead go first, then those that were quiet longest. When the
// last session ends everything is forgotten: nobody tells of forks, mappings and exits between
// sessions, and the source asks /proc again in the next one. Nothing here touches /proc: a replay
// is the same as life. Owned and used by the worker thread; Counters() from any.
class ProcessTable {
 public:
  struct Process {
    ProcessInfoRef info;
    AddressSpace mappings;
    std::uint64_t comm_ns = 0;     // as of when info->comm is known
    std::uint64_t renamed_ns = 0;  // the last COMM of the first thread; 0: none
    std::uint64_t image_ns = 0;    // the last EXEC; 0: none
  };

  explicit ProcessTable(const ProcessLimits& limits);
  ProcessTable() : ProcessTable(ProcessLimits{}) {}
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // Samples and counters change nothing.
  void Apply(const wire::Event& event);

  // Null when it is not known (any more). Valid until the next Apply.
  [[nodiscard]] const Process* Find(const ProcessKey& key) const;
  // The same object as long as nothing has changed; null when it is not known.
  [[nodiscard]] ProcessInfoRef Info(const ProcessKey& key) const;
  // "" when it is not known.
  [[nodiscard]] std::string ThreadComm(const ThreadKey& key) const { return names_.Find(key); }
  [[nodiscard]] ModuleTable& modules() { return modules_; }
  [[nodiscard]] ProcessCounters Counters() const;
  // Tells what it holds and gives up what was requested: processes that have ended, within
  // their grace time, too.
  void AccountForMemory(budget::MemoryAccount& memory);

 private:
  void On(const wire::StackEvent&) {}
  void On(const wire::CountersEvent&) {}
  void On(const wire::PeriodsEvent&) {}
  void On(const wire::PythonProcessEvent&) {}  // of daemon/python
  void On(const wire::PythonCodeEvent&) {}
  void On(const wire::SessionEvent& event);
  void On(const wire::ClockEvent& event);
  void On(const wire::ForkEvent& event);
  void On(const wire::ExecEvent& event);
  void On(const wire::CommEvent& event);
  void On(const wire::ExitEvent& event);
  void On(const wire::MmapEvent& event);
  void On(const wire::ProcessEvent& event);

  Process* FindMutable(const ProcessKey& key);
  Process& FindOrMake(const ProcessKey& key, std::uint64_t time_ns);
  void MakeCurrent(Process& process, std::uint64_t time_ns);
  void MarkExited(Process& process, std::uint64_t time_ns, std::uint32_t exit_code);
  // Also the process's own name when `header.thread` is its first thread.
  void NameThread(const wire::EventHeader& header, const std::string& comm);
  void SetComm(Process& process, std::uint64_t time_ns, const std::string& comm);
  void Map(Process& process, const ModuleIdentity& identity, Mapping mapping);
  void ReplaceMappings(Process& process, const std::string& maps, std::uint64_t time_ns);
  void Forget(const ProcessKey& key);
  void ForgetDead();
  // For one more process.
  void MakeRoom();
  // False: no process is dead.
  bool ForgetOldestDead();
  [[nodiscard]] std::size_t Bytes() const;
  [[nodiscard]] bool IsAlive(std::uint32_t pid) const;

  const ProcessLimits limits_;
  MappingBudget budget_;  // before processes_: they give back to it
  ThreadNames names_;
  ModuleTable modules_;
  LruCache<ProcessKey, Process> processes_{LruCache<ProcessKey, Process>::kUnbounded};
  std::unordered_map<std::uint32_t, Process*> current_;           // by pid, the youngest
  std::deque<ProcessKey> dead_;                                   // by time of exit
  std::deque<std::pair<ThreadKey, std::uint64_t>> dead_threads_;  // and when they did
  std::uint64_t sessions_ = 0;                                    // that run, one bit each
  std::uint64_t now_ns_ = 0;                                      // newest event
  Counter known_;
  Counter evicted_alive_;
  Counter evicted_early_;
  Counter mappings_refused_;
  Counter modules_refused_;
  Counter mmaps_unplaced_;
  Counter maps_malformed_;
  Counter threads_forgotten_;
};

}  // namespace profd::process
