#include "tests/testprogs/thread_truth.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <string>
#include <utility>

namespace profd::testprog {
namespace {

std::int64_t Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::int64_t UsedNs(int whose) {
  rusage usage{};
  getrusage(whose, &usage);
  return CpuNs(usage);
}

// A joined thread still runs the kernel's part of its exit. The program must not end before that is
// over: a profile that ends with the program would lack the end of the thread.
void AwaitGone(pid_t tid) {
  const std::string task = "/proc/self/task/" + std::to_string(tid);
  while (access(task.c_str(), F_OK) == 0) usleep(100);
}

}  // namespace

std::int64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }

std::int64_t CpuNs(const rusage& usage) {
  const auto ns = [](const timeval& time) {
    return time.tv_sec * 1'000'000'000 + time.tv_usec * 1'000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

std::int64_t ThreadCpuNs() { return Read(CLOCK_THREAD_CPUTIME_ID); }

ThreadTruth::ThreadTruth(std::string name)
    : name_(std::move(name)), begin_ns_(MonotonicNs()), cpu_at_begin_ns_(ThreadCpuNs()) {
  prctl(PR_SET_NAME, name_.c_str());
}

void ThreadTruth::Record(const char* function, std::int64_t wall_ns, std::int64_t cpu_ns) {
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
  std::int64_t intervals = -1;
  std::ifstream("/proc/thread-self/schedstat") >> run_ns >> run_delay_ns >> intervals;
  return {{"name", name_},
          {"tid", gettid()},
          {"begin_ns", begin_ns_},
          {"cpu_at_begin_ns", cpu_at_begin_ns_},
          {"phases", std::move(phases)},
          {"schedstat",
           {{"read_ns", read_ns},
            {"cpu_when_read_ns", cpu_when_read_ns},
            {"run_ns", run_ns},
            {"run_delay_ns", run_delay_ns},
            {"intervals", intervals}}},
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

void Report::JoinOne(Life& life) {
  const std::int64_t before_ns = MonotonicNs();
  life.thread.join();
  const std::int64_t joined_ns = MonotonicNs();
  joining_ns_ += joined_ns - before_ns;
  AwaitGone(life.found.at("tid"));
  life.found["created_ns"] = life.created_ns;
  life.found["joined_ns"] = joined_ns;
  Add(std::move(life.found));
}

void Report::Join() {
  for (const auto& life : lives_) JoinOne(*life);
  lives_.clear();
}

void Report::JoinEnded() {
  std::erase_if(lives_, [this](const auto& life) {
    if (!life->ended) return false;
    JoinOne(*life);
    return true;
  });
}

void Report::Add(nlohmann::json thread) {
  const std::lock_guard lock(mutex_);
  document_["threads"].push_back(std::move(thread));
}

void Report::AddWhom(nlohmann::json whom) {
  const std::lock_guard lock(mutex_);
  document_["whom"].push_back(std::move(whom));
}

void Report::Print() {
  const std::lock_guard lock(mutex_);
  document_["cpu_of_all_ns"] = UsedNs(RUSAGE_SELF) + UsedNs(RUSAGE_CHILDREN) - ThreadCpuNs();
  document_["joining_ns"] = joining_ns_;
  document_["end_ns"] = MonotonicNs();
  std::cout << document_.dump(1) << std::endl;
}

}  // namespace profd::testprog
