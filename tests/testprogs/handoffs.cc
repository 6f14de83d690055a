// Two threads that hand over to each other: "taker" waits for a byte in a pipe, and the main thread
// sleeps and writes one, over and over.
//
// Usage: handoffs ROUNDS. At the end it writes one line of JSON: the tids, and how often the taker
// left its CPU in these rounds, by getrusage. "begin_ns" and "end_ns" have the time before and
// after each of the two readings of that, in ns of CLOCK_MONOTONIC.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

namespace {

std::uint64_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

struct Reading {
  std::uint64_t before_ns = 0;
  std::uint64_t after_ns = 0;
  rusage usage{};
};

Reading Read() {
  Reading reading;
  reading.before_ns = Now();
  ::getrusage(RUSAGE_THREAD, &reading.usage);
  reading.after_ns = Now();
  return reading;
}

struct Taker {
  int input = -1;
  unsigned long rounds = 0;
  pid_t tid = 0;
  Reading first{};
  Reading last{};

  void Run() {
    ::pthread_setname_np(::pthread_self(), "taker");
    tid = ::gettid();
    char byte = 0;
    first = Read();
    for (unsigned long i = 0; i < rounds; ++i)
      if (::read(input, &byte, 1) != 1) std::abort();
    last = Read();
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::array<int, 2> ends{};
  if (argc != 2 || ::pipe(ends.data()) != 0) return 2;
  Taker taker{.input = ends[0], .rounds = std::strtoul(argv[1], nullptr, 10)};
  std::thread thread(&Taker::Run, &taker);
  for (unsigned long i = 0; i < taker.rounds; ++i) {
    const timespec pause{0, 3'000'000};
    ::nanosleep(&pause, nullptr);
    if (::write(ends[1], "x", 1) != 1) return 1;
  }
  thread.join();
  std::printf(
      "{\"giver\": %d, \"taker\": %d, \"begin_ns\": [%lu, %lu], \"end_ns\": [%lu, %lu], "
      "\"voluntary\": %ld, \"involuntary\": %ld}\n",
      ::gettid(), taker.tid, taker.first.before_ns, taker.first.after_ns, taker.last.before_ns,
      taker.last.after_ns, taker.last.usage.ru_nvcsw - taker.first.usage.ru_nvcsw,
      taker.last.usage.ru_nivcsw - taker.first.usage.ru_nivcsw);
  return 0;
}
