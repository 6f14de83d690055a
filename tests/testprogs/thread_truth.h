// ThreadTruth: what a thread itself knows of its life, by clocks that profd does not use.
#pragma once

#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace profd::testprog {

[[nodiscard]] std::int64_t MonotonicNs();
[[nodiscard]] std::int64_t ThreadCpuNs();  // CLOCK_THREAD_CPUTIME_ID

[[nodiscard]] std::int64_t CpuNs(const rusage& usage);  // in user and kernel mode

// Kept by the thread it is about; its numbers go into a Report when it ends.
class ThreadTruth {
 public:
  // Names the calling thread (15 characters at most) and reads its clocks.
  explicit ThreadTruth(std::string name);

  // Calls `call` and adds its wall and CPU time to the name of the function it runs. The clocks
  // are read by this caller, not by the function itself.
  template <typename Call>
  void Phase(const char* function, Call&& call) {
    const std::int64_t cpu = ThreadCpuNs();
    const std::int64_t wall = MonotonicNs();
    call();
    Record(function, MonotonicNs() - wall, ThreadCpuNs() - cpu);
  }

  // Reads the clocks, and kernel accounting from /proc/thread-self/schedstat, a last time.
  [[nodiscard]] nlohmann::json Finish() const;

 private:
  struct PhaseSum {
    std::int64_t wall_ns = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t count = 0;
  };
  void Record(const char* function, std::int64_t wall_ns, std::int64_t cpu_ns);

  std::string name_;
  std::int64_t begin_ns_;
  std::int64_t cpu_at_begin_ns_;
  std::map<std::string, PhaseSum> phases_;
};

// The document of one program; threads may report at any time. Threads that run are joined by it.
class Report {
 public:
  explicit Report(std::string program);
  // Starts a thread that runs `body(ThreadTruth&)` and reports what it finds at its end. It begins
  // to live between created_ns, read here, and begin_ns, which it reads itself, and ends between
  // end_ns, which it reads itself, and joined_ns, read when it has been joined: but for the rest of
  // its way out of the kernel, which no code of a program sees.
  template <typename Body>
  void Start(std::string name, Body body) {
    auto life = std::make_unique<Life>();
    Life* const its = life.get();
    lives_.push_back(std::move(life));
    its->created_ns = MonotonicNs();
    its->thread = std::thread([its, name = std::move(name), body = std::move(body)] {
      ThreadTruth truth(name);
      body(truth);
      its->found = truth.Finish();
      its->ended = true;
    });
  }
  void Join();
  // Only those that have reported: soon after their end.
  void JoinEnded();
  void Add(nlohmann::json thread);
  // What a WhomTruth says.
  void AddWhom(nlohmann::json whom);
  // The whole as one JSON document and a newline on stdout. By the main thread: all CPU time but
  // its own is that of the others.
  void Print();

 private:
  struct Life {
    std::int64_t created_ns = 0;
    nlohmann::json found;  // of the thread's own until it is joined
    std::atomic<bool> ended{false};
    std::thread thread;
  };
  void JoinOne(Life& life);

  std::mutex mutex_;  // guards document_
  nlohmann::json document_;
  std::int64_t joining_ns_ = 0;  // spent waiting for threads to end
  std::vector<std::unique_ptr<Life>> lives_;
};

}  // namespace profd::testprog
