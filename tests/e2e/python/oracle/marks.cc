// What the oracle's scripts call through ctypes: functions of C that are to be found on stacks
// by their names, in places that are known. Preloaded, it also takes the first pthread keys.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#define MARK extern "C" __attribute__((noinline, visibility("default")))

namespace {

using Callback = void (*)();
constexpr int kKeys = 40;

// Keeps calls from being the last thing a function does: its frame would be gone.
inline void StayOnStack() { asm volatile("" ::: "memory"); }

std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::atomic<bool> natives_end{false};

// Python older than 3.11 would take the key that the first library to ask is given.
__attribute__((constructor)) void TakeKeys() {
  if (getenv("ORACLE_TAKE_KEYS") == nullptr) return;
  for (int i = 0; i < kKeys; ++i) {
    pthread_key_t key;
    pthread_key_create(&key, nullptr);
  }
}

}  // namespace

MARK void oracle_spin(std::int64_t ns) {
  const std::int64_t end = NowNs() + ns;
  while (NowNs() < end) StayOnStack();
  StayOnStack();
}

MARK void oracle_sleep(std::int64_t ns) {
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&time, nullptr);
  StayOnStack();
}

MARK void oracle_call(Callback callback) {
  callback();
  StayOnStack();
}

MARK void oracle_outer_call(Callback callback) {
  oracle_call(callback);
  StayOnStack();
}

MARK void oracle_sort(int* numbers, std::size_t count, int (*compare)(const void*, const void*)) {
  qsort(numbers, count, sizeof(int), compare);
  StayOnStack();
}

namespace {

struct Job {
  Callback callback;
  int times;
};

}  // namespace

MARK void* oracle_thread(void* argument) {
  prctl(PR_SET_NAME, "foreign");
  const Job job = *static_cast<Job*>(argument);
  for (int i = 0; i < job.times; ++i) job.callback();
  StayOnStack();
  return nullptr;
}

// One after the other: `threads` threads that call `callback` `times` times each.
MARK void oracle_threads(Callback callback, int threads, int times) {
  Job job{callback, times};
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, oracle_thread, &job) != 0) return;
    pthread_join(thread, nullptr);
  }
}

MARK void* oracle_native(void*) {
  prctl(PR_SET_NAME, "native");
  while (!natives_end) {
    oracle_spin(100'000);
    oracle_sleep(2'000'000);
  }
  return nullptr;
}

MARK void oracle_start_natives(int threads) {
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, oracle_native, nullptr) == 0) pthread_detach(thread);
  }
}

MARK void oracle_end_natives() { natives_end = true; }

MARK void oracle_on_signal(int) {
  oracle_spin(300'000);
  StayOnStack();
}

// On a stack of its own.
MARK int oracle_handle(int number) {
  constexpr std::size_t kBytes = 65'536;
  stack_t stack{};
  stack.ss_size = kBytes;
  stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action {};
  action.sa_handler = oracle_on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  return sigaltstack(&stack, nullptr) | sigaction(number, &action, nullptr);
}

// A word of this process is another one for a while.
MARK void oracle_sleep_with(std::uint64_t* word, std::uint64_t value, std::int64_t ns) {
  const std::uint64_t before = *word;
  *static_cast<volatile std::uint64_t*>(word) = value;
  oracle_sleep(ns);
  *static_cast<volatile std::uint64_t*>(word) = before;
}
