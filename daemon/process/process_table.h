// ProcessTable: the processes of the host, with their names and their mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
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

struct ProcessCounters {
  std::uint64_t processes = 0;         // known now, including dead ones in their grace time
  std::uint64_t evicted_alive = 0;     // living processes that were forgotten to make room
  std::uint64_t evicted_early = 0;     // dead ones, forgotten to make room in their grace time
  std::uint64_t mappings_refused = 0;  // beyond a limit
  std::uint64_t modules_refused = 0;   // beyond a limit: frames in these mappings have no module
  std::uint64_t mmaps_unplaced = 0;    // of a process that is not known
  std::uint64_t maps_malformed = 0;    // lines of /proc/PID/maps
  std::uint64_t threads_forgotten = 0;
};

// Job: builds the table from events, which must come in order of time. An event that comes late
// does not overwrite newer facts. A process, and the names of its threads, are kept for a grace
// time after its exit, because its last samples come late. If there are too many processes, the
// table forgets dead ones first, then those without events for the longest time. When the last
// session ends, it forgets everything: between sessions the BPF side reports no forks, mappings and
// exits, and the source reads /proc again for the next session. The table itself reads no file, so
// a replay gives the same result. Thread: the worker; Counters() may be called from any thread.
// Owner: WorkerStage.
class ProcessTable {
 public:
  // Whose alone a process was when /proc was last read.
  struct OwnerSeen {
    std::optional<std::uint32_t> sole_uid;  // none: no single user's
    bool of_this_image = true;              // false: it has executed another program since
  };
  struct Process {
    ProcessInfoRef info;
    AddressSpace mappings;
    std::uint64_t comm_ns = 0;              // time of the event that info->comm is from
    std::uint64_t renamed_ns = 0;           // the last COMM of the first thread; 0: none
    std::uint64_t image_ns = 0;             // the last EXEC; 0: none
    std::optional<OwnerSeen> owner_seen{};  // none: /proc has not been read
  };

  explicit ProcessTable(const ProcessLimits& limits);
  ProcessTable() : ProcessTable(ProcessLimits{}) {}
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // Samples and counters change nothing.
  void Apply(const wire::Event& event);

  // Null: the table does not know it, or has forgotten it. Valid until the next Apply.
  [[nodiscard]] const Process* Find(const ProcessKey& key) const;
  // The same object until a fact changes; null: the table does not know the process.
  [[nodiscard]] ProcessInfoRef Info(const ProcessKey& key) const;
  // "": the table does not know the thread.
  [[nodiscard]] std::string ThreadComm(const ThreadKey& key) const { return names_.Find(key); }
  [[nodiscard]] ModuleTable& modules() { return modules_; }
  [[nodiscard]] ProcessCounters Counters() const;
  // Sets the account. If it has a reclaim request, forgets dead processes, also in their grace
  // time.
  void AccountForMemory(budget::MemoryAccount& memory);

 private:
  void On(const wire::StackEvent&) {}
  void On(const wire::CountersEvent&) {}
  void On(const wire::PeriodsEvent&) {}
  void On(const wire::BeyondShareEvent&) {}
  void On(const wire::StepEvent&) {}
  void On(const wire::StepSourceEvent&) {}
  void On(const wire::SwitchEvent&) {}
  void On(const wire::WakeEvent&) {}
  void On(const wire::PmuEvent&) {}
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
  void On(const wire::LabelProcessEvent& event);

  // `known`: other events of the child came before its FORK.
  static void Inherit(const Process& parent, bool known, Process& child);
  Process* FindMutable(const ProcessKey& key);
  Process& FindOrMake(const ProcessKey& key, std::uint64_t time_ns);
  void MakeCurrent(Process& process, std::uint64_t time_ns);
  void MarkExited(Process& process, std::uint64_t time_ns, std::uint32_t exit_code);
  // The name of the first thread is also the name of the process.
  void NameThread(const wire::EventHeader& header, const std::string& comm);
  void SetOwner(Process& process, std::uint64_t time_ns, Owner owner);
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
  MappingBudget budget_;  // before processes_, which return their share to it
  ThreadNames names_;
  ModuleTable modules_;
  LruCache<ProcessKey, Process> processes_{LruCache<ProcessKey, Process>::kUnbounded};
  std::unordered_map<std::uint32_t, Process*> current_;           // by pid, the youngest
  std::deque<ProcessKey> dead_;                                   // by time of exit
  std::deque<std::pair<ThreadKey, std::uint64_t>> dead_threads_;  // with the time of exit
  std::uint64_t sessions_ = 0;                                    // one bit per running session
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
