// Engine: what a framework has below its Python: a worker thread that takes pushed operations, and
// a device that all processes share and only one of them may speak to at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace engine {

using Scores = std::vector<double>;

// The worker's own clock of one operation, ns of CLOCK_MONOTONIC.
struct Visit {
  std::int64_t begin = 0;     // get_device_properties is called
  std::int64_t locked = 0;    // the device is ours
  std::int64_t answered = 0;  // from here on it is given back
  std::int64_t end = 0;       // get_device_properties has returned
};

// Push and Wait are called by any thread, all else by the one that made it.
class Engine {
 public:
  explicit Engine(const std::string& device);  // throws std::system_error
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Asks the worker for the `k` largest of `scores`; returns a handle at once.
  std::uint64_t Push(Scores scores, std::size_t k);
  // Waits until the worker has done what was pushed.
  Scores Wait(std::uint64_t handle);
  // Ends the worker. What its clock says is complete after that.
  const std::vector<Visit>& Stop();
  [[nodiscard]] int worker_tid() const { return worker_tid_; }

 private:
  struct Operation {
    std::uint64_t handle = 0;
    Scores scores;
    std::size_t k = 0;
  };

  void Run();
  Operation TakeOperation();

  const int device_;
  std::mutex mutex_;
  std::condition_variable pushed_;
  std::condition_variable done_;
  std::deque<Operation> queue_;
  std::map<std::uint64_t, Scores> results_;
  std::uint64_t last_handle_ = 0;
  bool stopping_ = false;
  int worker_tid_ = 0;
  std::vector<Visit> visits_;  // of the worker, until it has ended
  std::thread worker_;
};

}  // namespace engine
