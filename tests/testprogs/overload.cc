// overload VERB ...: loads that are too much for a profiler. Says "ready" when they run; those that
// stand end with standard input.
//   threads N        N threads that sleep, on small stacks
//   switches         on each CPU two threads that wake each other, as fast as they can; says how
//   often forks N          N processes that end at once, 16 at a time processes N      N processes
//   that sleep each FOLDER MS   runs every file in FOLDER as `FILE stacks MS`, 8 at a time stacks
//   MS        computes under ever different stacks for so long
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/testprogs/numbered_stack.h"
#include "tests/testprogs/raw_syscall.h"

extern char** environ;

namespace overload {

namespace testprog = profd::testprog;

constexpr std::uint32_t kDepth = 40;

std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void Ready() {
  std::puts("ready");
  std::fflush(stdout);
}

void AwaitEndOfInput() {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

void* Sleep(void* /*unused*/) {
  pause();
  return nullptr;
}

int Threads(std::uint32_t count) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN)));
  for (std::uint32_t i = 0; i < count; ++i) {
    pthread_t thread{};
    if (const int error = pthread_create(&thread, &small, Sleep, nullptr); error != 0) {
      std::fprintf(stderr, "thread %u: %s\n", i, std::strerror(error));
      return 1;
    }
  }
  Ready();
  AwaitEndOfInput();
  _exit(0);  // without waiting for them
}

struct Pipe {
  std::array<int, 2> ends{};
};

int Switches() {
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> rounds = 0;
  const auto pin = [](int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu), &one);
    sched_setaffinity(0, sizeof one, &one);
  };
  std::vector<std::thread> threads;
  for (int cpu = 0; cpu < static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); ++cpu) {
    Pipe ping;
    Pipe pong;
    if (pipe(ping.ends.data()) != 0 || pipe(pong.ends.data()) != 0) return 1;
    threads.emplace_back([=, &stop, &rounds] {
      pin(cpu);
      char byte = 0;
      std::uint64_t own = 0;
      while (!stop && write(ping.ends[1], &byte, 1) == 1 && read(pong.ends[0], &byte, 1) == 1)
        ++own;
      close(ping.ends[1]);
      rounds += own;
    });
    threads.emplace_back([=] {
      pin(cpu);
      char byte = 0;
      while (read(ping.ends[0], &byte, 1) == 1 && write(pong.ends[1], &byte, 1) == 1) {
      }
    });
  }
  Ready();
  AwaitEndOfInput();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%llu\n", static_cast<unsigned long long>(2 * rounds.load()));
  return 0;
}

// Calls `start` so often, with as many of what it starts alive as `at_once`.
template <typename Start>
int Run(std::uint32_t count, std::uint32_t at_once, const Start& start) {
  std::uint32_t alive = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (; alive >= at_once; --alive)
      if (wait(nullptr) < 0) return 1;
    if (!start(i)) return 1;
    ++alive;
  }
  while (wait(nullptr) > 0) {
  }
  return 0;
}

int Forks(std::uint32_t count) {
  Ready();
  return Run(count, 16, [](std::uint32_t) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    return child > 0;
  });
}

int Processes(std::uint32_t count) {
  std::vector<pid_t> children;
  for (std::uint32_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      pause();
      _exit(0);
    }
    children.push_back(child);
  }
  Ready();
  AwaitEndOfInput();
  for (const pid_t child : children) kill(child, SIGKILL);
  return 0;
}

int Each(const char* folder, char* ms) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  Ready();
  return Run(static_cast<std::uint32_t>(files.size()), 8, [&](std::uint32_t i) {
    std::string verb = "stacks";
    std::array<char*, 4> arguments{files[i].data(), verb.data(), ms, nullptr};
    pid_t child = 0;
    return posix_spawn(&child, files[i].c_str(), nullptr, nullptr, arguments.data(), environ) == 0;
  });
}

int Stacks(std::int64_t ms) {
  std::uint64_t path = static_cast<std::uint64_t>(getpid()) << 20;
  for (const std::int64_t end_ns = NowNs() + ms * 1'000'000; NowNs() < end_ns; ++path)
    testprog::RunNumberedStack(path * 0x9e3779b97f4a7c15ull, kDepth);
  return 0;
}

int Main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto number = static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0);
  if (verb == "threads") return Threads(number);
  if (verb == "switches") return Switches();
  if (verb == "forks") return Forks(number);
  if (verb == "processes") return Processes(number);
  if (verb == "each" && argc > 3) return Each(argv[2], argv[3]);
  if (verb == "stacks") return Stacks(number);
  std::fputs("usage: overload threads|switches|forks|processes|each|stacks ...\n", stderr);
  return 2;
}

}  // namespace overload

int main(int argc, char** argv) { return overload::Main(argc, argv); }
