// together: threads that want a CPU so many at once, for known times. It prints a line when they
// run, ends with the first line of its input, and prints from when to when each of them wanted one.
//
// A controller wakes 1, 2, ... of them in turn, with a pause between; each spins to the end of its
// turn. Its wake-up lies between the two readings of the clock around the controller's call; its
// sleep begins where it reads the clock a last time, unless it was preempted behind that.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/testprogs/raw_syscall.h"
#include "tests/testprogs/spin.h"
#include "tests/testprogs/thread_truth.h"

namespace {

using profd::testprog::MonotonicNs;

constexpr std::int64_t kTurnNs = 25'000'000;
constexpr std::int64_t kPauseNs = 10'000'000;

// The thread wanted a CPU from an instant between the first two to one between the last two.
struct Wanted {
  std::int64_t begin_ns = 0;
  std::int64_t begun_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t ended_ns = 0;
};

struct Worker {
  std::atomic<std::uint32_t> turn{0};   // changes with each of its turns
  std::atomic<std::uint64_t> until{0};  // of the counter
  std::vector<Wanted> woken;            // begins, by the controller
  std::vector<std::int64_t> ends;       // by itself, one a turn
  std::vector<bool> certain;            // it was not preempted between such an end and its sleep
  std::thread thread;
};

long InvoluntarySwitches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

void Work(Worker& worker, const std::atomic<bool>& done) {
  std::uint32_t seen = 0;
  long switches = InvoluntarySwitches();
  while (true) {
    while (worker.turn == seen) profd::testprog::RawFutexWait(worker.turn, seen);
    if (!worker.ends.empty()) worker.certain.push_back(InvoluntarySwitches() == switches);
    if (done) return;
    ++seen;
    profd::testprog::SpinUntil(worker.until);
    switches = InvoluntarySwitches();
    worker.ends.push_back(MonotonicNs());
  }
}

// Of a turn that began while the one before had not ended, the begin is that end: it did not sleep.
std::vector<Wanted> IntervalsOf(const Worker& worker) {
  std::vector<Wanted> intervals;
  for (std::size_t i = 0; i < worker.ends.size(); ++i) {
    Wanted wanted = worker.woken[i];
    if (i != 0 && worker.ends[i - 1] > wanted.begin_ns)
      wanted.begin_ns = wanted.begun_ns = worker.ends[i - 1];
    wanted.end_ns = wanted.ended_ns = worker.ends[i];
    if (!worker.certain[i] && i + 1 < worker.woken.size())
      wanted.ended_ns = std::max(wanted.end_ns, worker.woken[i + 1].begin_ns);
    intervals.push_back(wanted);
  }
  return intervals;
}

nlohmann::json ToJson(const std::vector<Wanted>& intervals) {
  nlohmann::json list = nlohmann::json::array();
  for (const Wanted& wanted : intervals)
    list.push_back({wanted.begin_ns, wanted.begun_ns, wanted.end_ns, wanted.ended_ns});
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t threads = 4;
  CLI::App app{"Threads that want a CPU so many at once, for known times"};
  app.add_option("--threads", threads, "how many at most")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const profd::testprog::Counter counter;
  std::atomic<bool> done{false};
  std::atomic<bool> should_end{false};
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < threads; ++i) {
    Worker& worker = *workers.emplace_back(std::make_unique<Worker>());
    worker.thread = std::thread([&worker, &done] { Work(worker, done); });
  }
  // It wants a CPU, too, but gets one at once where the kernel lets it; its share is known by the
  // same clock. Slack of timers would make that less certain.
  const sched_param first{.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
  prctl(PR_SET_TIMERSLACK, 1);
  std::thread input([&] {
    std::string line;
    std::getline(std::cin, line);
    should_end = true;
  });
  std::cout << "ready" << std::endl;
  std::vector<Wanted> own;
  std::int64_t begin_ns = MonotonicNs() + kPauseNs;
  for (std::uint32_t turn = 0; !should_end; ++turn, begin_ns += kTurnNs + kPauseNs) {
    profd::testprog::RawSleepUntil(begin_ns);
    Wanted wanted{.begin_ns = begin_ns, .begun_ns = MonotonicNs()};
    const std::uint64_t until = counter.At(begin_ns + kTurnNs);
    for (std::uint32_t i = 0; i <= turn % threads; ++i) {
      Worker& worker = *workers[i];
      worker.until = until;
      const std::int64_t before_ns = MonotonicNs();
      ++worker.turn;
      profd::testprog::RawFutexWake(worker.turn, 1);
      worker.woken.push_back({.begin_ns = before_ns, .begun_ns = MonotonicNs()});
    }
    wanted.end_ns = wanted.ended_ns = MonotonicNs();
    own.push_back(wanted);
  }
  done = true;
  nlohmann::json truth{{"pid", getpid()}, {"threads", nlohmann::json::array()}};
  truth["threads"].push_back({{"tid", getpid()}, {"wanted", ToJson(own)}});
  for (const auto& worker : workers) {
    ++worker->turn;
    profd::testprog::RawFutexWake(worker->turn, 1);
    worker->thread.join();
    truth["threads"].push_back({{"wanted", ToJson(IntervalsOf(*worker))}});
  }
  input.join();
  std::cout << truth.dump() << std::endl;
  return 0;
}
