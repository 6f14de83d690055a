// How far the shares of stacks in the time that many threads wait, summed over them, lie from the
// truth by the choice of sampling points: those of the host (bpf/shared/points.h), and one in each
// period of a thread's own off-CPU time. Threads wait in some manner and log it; then points are
// drawn again and again, and samples are weighed as profiles weigh them.
//   bench_points [--seconds N] [--threads N] [--draws N] [--hunt CLOCKS.json]
// CLOCKS.json: what tests/testprogs/hunt/launch.py has printed at its end.
#include <time.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bpf/shared/points.h"

namespace {

using namespace std::chrono_literals;

struct Options {
  int seconds = 6;
  int threads = 24;
  int draws = 400;
  std::string hunt;
};

struct Wait {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::size_t stack = 0;
};
using Log = std::vector<Wait>;  // of one thread, in order of time

struct Trace {
  std::string name;
  std::vector<std::string> stacks;
  std::vector<Log> threads;
};

std::uint64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Runs `body` in each thread, which waits by calling `wait(stack, what)`.
using Waiter = std::function<void(std::size_t stack, const std::function<void()>& what)>;
Trace Run(const Options& options, std::string name, std::vector<std::string> stacks,
          const std::function<void(int thread, bool& goes_on, const Waiter& wait)>& body) {
  Trace trace{std::move(name), std::move(stacks), {}};
  trace.threads.resize(static_cast<std::size_t>(options.threads));
  const std::uint64_t end_ns =
      NowNs() + static_cast<std::uint64_t>(options.seconds) * 1'000'000'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i)
    threads.emplace_back([&, i] {
      Log& log = trace.threads[static_cast<std::size_t>(i)];
      bool goes_on = true;
      const Waiter wait = [&](std::size_t stack, const std::function<void()>& what) {
        const std::uint64_t begin_ns = NowNs();
        what();
        log.push_back({begin_ns, NowNs(), stack});
      };
      while (goes_on) {
        goes_on = NowNs() < end_ns;
        body(i, goes_on, wait);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return trace;
}

// One after the other has the lock, asleep for 2 ms, and sleeps 3 ms without it.
Trace TakeTurns(const Options& options) {
  std::mutex lock;
  return Run(options, "take turns on a lock", {"waits for the lock", "sleeps with it", "sleeps"},
             [&](int, bool&, const Waiter& wait) {
               wait(0, [&] { lock.lock(); });
               wait(1, [] { std::this_thread::sleep_for(2ms); });
               lock.unlock();
               wait(2, [] { std::this_thread::sleep_for(3ms); });
             });
}

// All read for 1 to 4 ms, the slowest 7 ms, and wait for it; then all write for 5 ms.
Trace MeetAtABarrier(const Options& options) {
  std::barrier barrier(options.threads);
  return Run(options, "meet at a barrier", {"reads", "waits at the barrier", "writes"},
             [&](int thread, bool& goes_on, const Waiter& wait) {
               const int us = thread == 0 ? 7'000 : 1'000 + 3'000 * thread / options.threads;
               wait(0, [&] { std::this_thread::sleep_for(std::chrono::microseconds(us)); });
               wait(1, [&] {
                 if (goes_on)
                   barrier.arrive_and_wait();
                 else
                   barrier.arrive_and_drop();
               });
               wait(2, [] { std::this_thread::sleep_for(5ms); });
             });
}

// A pool that is idle for 20 ms on average, and then all of it waits for a disk for 10 ms.
Trace IdleTogether(const Options& options) {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t jobs = 0;
  bool over = false;
  std::jthread boss([&](const std::stop_token& stop) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> pause(1 / 20e3);
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(
          std::chrono::microseconds(10'000 + static_cast<std::int64_t>(pause(random))));
      const std::lock_guard guard(mutex);
      ++jobs;
      changed.notify_all();
    }
    const std::lock_guard guard(mutex);
    over = true;
    changed.notify_all();
  });
  std::vector<std::uint64_t> done(static_cast<std::size_t>(options.threads));
  return Run(options, "are idle together", {"waits for work", "works: waits for a disk"},
             [&](int thread, bool&, const Waiter& wait) {
               wait(0, [&] {
                 std::unique_lock guard(mutex);
                 changed.wait(
                     guard, [&] { return over || jobs != done[static_cast<std::size_t>(thread)]; });
                 done[static_cast<std::size_t>(thread)] = jobs;
               });
               wait(1, [] { std::this_thread::sleep_for(10ms); });
             });
}

// Requests come and go, each thread on its own.
Trace WaitApart(const Options& options) {
  return Run(options, "wait apart", {"waits for a request", "waits for an answer"},
             [&](int thread, bool&, const Waiter& wait) {
               static thread_local std::mt19937_64 random(static_cast<std::uint64_t>(thread) + 1);
               const auto sleep = [&](double mean_us) {
                 std::exponential_distribution<double> length(1 / mean_us);
                 std::this_thread::sleep_for(
                     std::chrono::microseconds(static_cast<std::int64_t>(length(random))));
               };
               wait(0, [&] { sleep(7'000); });
               wait(1, [&] { sleep(3'000); });
             });
}

// Main threads wait for their workers, workers for a device that one of them has at a time.
Trace HuntOf(const std::string& path, int seconds) {
  Trace trace{"hunt", {"numpy", "flock", "the device's answer", "waits for work"}, {}};
  const auto clocks = nlohmann::json::parse(std::ifstream(path));
  std::uint64_t first = 0;
  for (const auto& process : clocks)
    first = std::max(first, process["numpy"][0][0].get<std::uint64_t>());
  const std::uint64_t last = first + static_cast<std::uint64_t>(seconds) * 1'000'000'000;
  const auto add = [&](Log& log, std::uint64_t begin, std::uint64_t end, std::size_t stack) {
    begin = std::max(begin, first);
    end = std::min(end, last);
    if (begin < end) log.push_back({begin, end, stack});
  };
  for (const auto& process : clocks) {
    Log& main = trace.threads.emplace_back();
    for (const auto& one : process["numpy"]) add(main, one[0], one[1], 0);
    Log& worker = trace.threads.emplace_back();
    std::uint64_t left = first;
    for (const auto& one : process["device"]) {
      add(worker, left, one[0], 3);
      add(worker, one[0], one[1], 1);
      add(worker, one[1], one[2], 2);
      left = one[3];
    }
  }
  return trace;
}

// Points of each wait of one thread.
using Counts = std::vector<std::uint64_t>;

Counts OfTheHost(const Log& log, std::uint32_t level, std::uint64_t seed) {
  Counts counts;
  for (const Wait& wait : log)
    counts.push_back(profd_points_in(seed, level, wait.begin_ns, wait.end_ns));
  return counts;
}

Counts OfItsOwn(const Log& log, std::uint64_t period, std::mt19937_64& random) {
  Counts counts;
  std::uniform_int_distribution<std::uint64_t> draw(0, period - 1);
  std::uint64_t at = draw(random);  // how much of its time off the CPU has passed
  std::uint64_t begun = 0;          // of the period
  std::uint64_t point = draw(random);
  for (const Wait& wait : log) {
    std::uint64_t count = 0;
    const std::uint64_t end = at + (wait.end_ns - wait.begin_ns);
    while (begun + point < end) {
      if (begun + point >= at) ++count;
      begun += period;
      point = draw(random);
    }
    counts.push_back(count);
    at = end;
  }
  return counts;
}

// The share of each stack in what samples say of all threads: those of one thread add up to its
// clock.
std::vector<double> Shares(const Trace& trace, const std::function<Counts(const Log&)>& count) {
  std::vector<double> shares(trace.stacks.size());
  double total = 0;
  for (const Log& log : trace.threads) {
    const Counts counts = count(log);
    double points = 0;
    double clock = 0;
    for (std::size_t i = 0; i < log.size(); ++i) {
      points += static_cast<double>(counts[i]);
      clock += static_cast<double>(log[i].end_ns - log[i].begin_ns);
    }
    total += clock;
    for (std::size_t i = 0; i < log.size() && points > 0; ++i)
      shares[log[i].stack] += static_cast<double>(counts[i]) / points * clock;
  }
  for (double& share : shares) share /= total;
  return shares;
}

struct Moments {
  double sum = 0;
  double squares = 0;
};

void Print(const Trace& trace, const Options& options) {
  const std::vector<double> truth = Shares(trace, [](const Log& log) {
    Counts lengths;
    for (const Wait& wait : log) lengths.push_back(wait.end_ns - wait.begin_ns);
    return lengths;
  });
  std::mt19937_64 random(20'251'121);
  for (const std::uint32_t level : {23u, 26u}) {
    const std::uint64_t period = std::uint64_t{1} << level;
    std::vector<std::array<Moments, 2>> errors(truth.size());
    for (int draw = 0; draw < options.draws; ++draw) {
      const std::uint64_t seed = random();
      const std::array<std::vector<double>, 2> seen{
          Shares(trace, [&](const Log& log) { return OfItsOwn(log, period, random); }),
          Shares(trace, [&](const Log& log) { return OfTheHost(log, level, seed); })};
      for (std::size_t stack = 0; stack < truth.size(); ++stack)
        for (std::size_t kind = 0; kind < seen.size(); ++kind) {
          const double error = 100 * (seen[kind][stack] - truth[stack]);
          errors[stack][kind].sum += error;
          errors[stack][kind].squares += error * error;
        }
    }
    for (std::size_t stack = 0; stack < truth.size(); ++stack) {
      const auto mean = [&](std::size_t kind) { return errors[stack][kind].sum / options.draws; };
      const auto deviation = [&](std::size_t kind) {
        return std::sqrt(errors[stack][kind].squares / options.draws - mean(kind) * mean(kind));
      };
      std::printf("| %s | %s | %.1f ms | %.1f %% | %.2f (%+.2f) | %.2f (%+.2f) | %.2f |\n",
                  trace.name.c_str(), trace.stacks[stack].c_str(),
                  static_cast<double>(period) / 1e6, 100 * truth[stack], deviation(0), mean(0),
                  deviation(1), mean(1), deviation(1) / deviation(0));
    }
  }
  std::fflush(stdout);
}

Options Parse(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    if (name == "--seconds") options.seconds = std::atoi(words[i + 1]);
    if (name == "--threads") options.threads = std::atoi(words[i + 1]);
    if (name == "--draws") options.draws = std::atoi(words[i + 1]);
    if (name == "--hunt") options.hunt = words[i + 1];
  }
  return options;
}

}  // namespace

int main(int count, char** words) {
  const Options options = Parse(count, words);
  std::printf("| threads | stack | period | share | own points | the host's points | ratio |\n");
  std::printf("| --- | --- | --- | ---: | ---: | ---: | ---: |\n");
  if (!options.hunt.empty()) {
    Print(HuntOf(options.hunt, options.seconds), options);
    return 0;
  }
  Print(TakeTurns(options), options);
  Print(WaitApart(options), options);
  Print(MeetAtABarrier(options), options);
  Print(IdleTogether(options), options);
  return 0;
}
