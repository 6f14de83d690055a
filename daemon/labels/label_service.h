// LabelService: finds the processes that publish labels, for the BPF side and for the stream.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/keys.h"
#include "daemon/labels/label_processes.h"
#include "daemon/labels/label_remote.h"
#include "daemon/reader/reader_pool.h"

namespace profd::labels {

// What is found, on its way to the stream.
struct FoundLabels {
  ProcessKey process;
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC; before the BPF side knows of it
  LabelFacts facts;
};

// Written by the service's thread, `dropped` also by callers; any thread may read.
struct LabelCounters {
  Counter known;    // now: processes with labels
  Counter refused;  // now: processes that publish labels which cannot be read
  Counter dropped;  // processes that were not looked at: too many, or no room on the BPF side
};

// Job: looks at the processes of requested sessions, by a reader, and keeps those that publish
// labels known. A process may begin to publish at any time, so it is looked at again, ever later,
// and soon when something has changed. Thread: one of its own, at low priority, which sleeps while
// no client has a session. Owner: the composition root.
class LabelService {
 public:
  static constexpr std::chrono::milliseconds kPatience{50};
  static constexpr std::chrono::milliseconds kFirstDelay{20};
  static constexpr std::chrono::milliseconds kLastDelay{10'000};
  static constexpr std::chrono::milliseconds kAgainDelay{500};  // between looks for LookAgain
  static constexpr std::size_t kMaxProcesses = 32'768;          // that are looked at

  // All must outlive this. The readers are LabelParsers.
  LabelService(LabelProcesses& processes, reader::Readers& readers, const Clock& clock);
  LabelService(const LabelService&) = delete;
  LabelService& operator=(const LabelService&) = delete;
  ~LabelService() = default;

  // All of these return at once; any thread.
  //
  // Looks at the process now, and again and again while it publishes none.
  void Look(ProcessKey process);
  // The same for a process that is known here: it has mapped a file, or used another name. Of a
  // MMAP event, the start is 0.
  void LookAgain(ProcessKey process);
  // It has ended, or executes another program.
  void Forget(ProcessKey process);
  // No client has a session.
  void ForgetAll();

  // Until all that was requested so far was looked at once; false: it took longer.
  [[nodiscard]] bool Await(std::chrono::milliseconds timeout);
  // In the order in which they were found. Cheap when there are none.
  [[nodiscard]] std::vector<FoundLabels> TakeFound();

  [[nodiscard]] const LabelCounters& counters() const { return counters_; }
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Task {
    enum Kind { kLook, kAgain, kForget, kForgetAll } kind = kLook;
    ProcessKey process;
  };
  struct Process {
    ProcessKey key;
    std::optional<LabelFacts> facts;  // none: it publishes none
    bool installed = false;           // the BPF side knows it
    Time looked{};
    std::optional<Time> next;  // none: nothing more is to be found; in due_
    std::chrono::milliseconds delay{};
  };

  void Push(Task task);
  void Run(const std::stop_token& stop);
  [[nodiscard]] std::optional<Task> NextTask(const std::stop_token& stop);
  void Handle(const Task& task);
  void LookDue();
  void Schedule(Process& process, std::optional<Time> next);
  void ScheduleLater(Process& process);
  void Look(Process& process);
  void Take(Process& process, LabelFacts facts);
  void Remove(std::uint32_t pid);
  void Count();

  LabelProcesses& known_;
  LabelClient readers_;
  const Clock& clock_;
  LabelCounters counters_;
  Heartbeat beat_{"labels"};
  std::unordered_map<std::uint32_t, Process> processes_;  // by pid
  std::set<std::pair<Time, std::uint32_t>> due_;          // when, and pids

  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<Task> tasks_;
  bool busy_ = false;  // with what was in tasks_
  std::vector<FoundLabels> found_;
  std::atomic<bool> any_found_ = false;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::labels
