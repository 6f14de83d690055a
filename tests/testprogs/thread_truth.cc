#include "tests/testprogs/thread_truth.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <utility>

namespace profd::testprog {
namespace {

std::int64_t Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::int64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }

std::int64_t ThreadCpuNs() { return Read(CLOCK_THREAD_CPUTIME_ID); }

ThreadTruth::ThreadTruth(std::string name) : name_(std::move(name)), begin_ns_(MonotonicNs()) {
  prctl(PR_SET_NAME, name_.c_str());
}

void ThreadTruth::Book(const char* function, std::int64_t wall_ns, std::int64_t cpu_ns) {
  PhaseSum& phase = phases_[function];
  phase.wall_ns += wall_ns;
  phase.cpu_ns += cpu_ns;
  ++phase.count;
}

nlohmann::json ThreadTruth::Finish() const {
  nlohmann::json phases = nlohmann::json::array();
  for (const auto& [function, sum] : phases_) {
    phases.push_back({{"function", function},
                      {"wall_ns", sum.wall_ns},
                      {"cpu_ns", sum.cpu_ns},
                      {"count", sum.count}});
  }
  const std::int64_t read_ns = MonotonicNs();
  const std::int64_t cpu_when_read_ns = ThreadCpuNs();
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  std::int64_t run_ns = -1;
  std::int64_t run_delay_ns = -1;
  std::int64_t stretches = -1;
  std::ifstream("/proc/thread-self/schedstat") >> run_ns >> run_delay_ns >> stretches;
  return {{"name", name_},
          {"tid", gettid()},
          {"begin_ns", begin_ns_},
          {"phases", std::move(phases)},
          {"schedstat",
           {{"read_ns", read_ns},
            {"cpu_when_read_ns", cpu_when_read_ns},
            {"run_ns", run_ns},
            {"run_delay_ns", run_delay_ns},
            {"stretches", stretches}}},
          {"voluntary_switches", usage.ru_nvcsw},
          {"involuntary_switches", usage.ru_nivcsw},
          {"cpu_ns", ThreadCpuNs()},
          {"end_ns", MonotonicNs()}};
}

Report::Report(std::string program)
    : document_{{"program", std::move(program)},
                {"pid", getpid()},
                {"begin_ns", MonotonicNs()},
                {"threads", nlohmann::json::array()}} {}

void Report::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Report::Add(nlohmann::json thread) {
  const std::lock_guard lock(mutex_);
  document_["threads"].push_back(std::move(thread));
}

void Report::Print() {
  const std::lock_guard lock(mutex_);
  document_["end_ns"] = MonotonicNs();
  std::cout << document_.dump(1) << std::endl;
}

}  // namespace profd::testprog
